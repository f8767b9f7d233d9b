"""What the conversation referred to before its context begins counts as brought up."""

from datetime import UTC, datetime

from kds.brain.turn import ContextEntry, Turn
from kds.router.references.resolver import Resolver
from kds.router.understanding import make_expand, make_resolve, remembered

AT = datetime(2025, 11, 3, 9, 0, tzinfo=UTC)


def test_what_was_referred_to_counts_when_the_context_has_gone_the_newest_most(
    resolver: Resolver,
) -> None:
    for known, said, expanded in (
        ((), (), "Make it purple"),
        (("FAB button",), (), "Make the FAB button purple"),
        (("login form", "FAB button"), (), "Make the FAB button purple"),
        (("FAB button",), ("I want to add a login form",), "Make the login form purple"),
    ):
        turn = Turn("Make it purple", AT, context=tuple(ContextEntry(AT, x, "PLAN") for x in said))
        discourse = remembered(resolver, lambda known=known: known)
        for step in (make_resolve(resolver, discourse), make_expand(resolver, discourse)):
            turn = step.run(turn)
        assert turn.expanded == expanded
