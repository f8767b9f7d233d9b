"""What the conversation referred to before its context begins counts as brought up."""

from datetime import UTC, datetime

from kds.brain.turn import ContextEntry, Turn
from kds.router.references.resolver import Resolver
from kds.router.understanding import make_expand, make_resolve, remembered

AT = datetime(2025, 11, 3, 9, 0, tzinfo=UTC)


def expanded(resolver: Resolver, message: str, known: tuple[str, ...], *said: str) -> str:
    context = tuple(ContextEntry(AT, text, "PLAN") for text in said)
    turn = Turn(message, AT, context=context)
    resolved = make_resolve(resolver, remembered(resolver, lambda: known)).run(turn)
    return make_expand(resolver, remembered(resolver, lambda: known)).run(resolved).expanded


def test_it_is_what_was_referred_to_when_the_context_has_gone(resolver: Resolver) -> None:
    assert expanded(resolver, "Make it purple", ()) == "Make it purple"
    assert expanded(resolver, "Make it purple", ("FAB button",)) == "Make the FAB button purple"


def test_the_newest_counts_most(resolver: Resolver) -> None:
    known = ("login form", "FAB button")
    assert expanded(resolver, "Make it purple", known) == "Make the FAB button purple"


def test_what_the_context_says_comes_after_it(resolver: Resolver) -> None:
    found = expanded(resolver, "Make it purple", ("FAB button",), "I want to add a login form")
    assert found == "Make the login form purple"


def test_what_the_context_names_itself_is_not_brought_up_again(resolver: Resolver) -> None:
    said = "I want to add a FAB button"
    known = resolver.discourse((ContextEntry(AT, said, "PLAN"),), ("FAB button",))
    assert [moment.expanded for moment in known.moments] == [said]
