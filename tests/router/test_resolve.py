"""The resolve step."""

from dataclasses import replace
from datetime import UTC, datetime

from kds.brain.turn import ContextEntry, Edit, Turn
from kds.router.references.resolver import Resolver
from kds.router.resolve import make_resolve

NOW = datetime(2025, 11, 3, 9, 30, tzinfo=UTC)


def turn(*messages: str) -> Turn:
    *context, message = messages
    entries = tuple(ContextEntry(NOW, said, "PLAN", "map-20251103", "old ref") for said in context)
    return Turn(
        message, NOW, context=entries, expanded="before", context_ref="before", intent="ASK",
        confidence=0.5, session_id="map-20251103", notes=("earlier",),
    )  # fmt: skip


def test_what_the_step_does_not_read_makes_no_difference(resolver: Resolver) -> None:
    step = make_resolve(resolver)
    given = turn("Add a map", "Make it wider")
    bare = Turn(given.message, given.at, context=given.context)
    assert step.run(given).edits == step.run(bare).edits
    assert step.reads == {"message", "history", "context"}


def test_references_and_edits_of_the_message_are_found(resolver: Resolver) -> None:
    after = make_resolve(resolver).run(turn("Add a map", "Make it wider"))
    (reference,) = after.references
    assert (reference.text, reference.target, reference.rule) == ("it", "map", "pron.it")
    assert after.edits == (Edit(5, 7, "the map"),)


def test_each_reference_is_explained_after_the_notes_that_are_there(resolver: Resolver) -> None:
    after = make_resolve(resolver).run(turn("Add a map", "Make it wider"))
    assert after.notes[0] == "earlier"
    assert after.notes[1].startswith("'it' -> 'the map'")


def test_a_message_that_points_to_nothing_says_so(resolver: Resolver) -> None:
    after = make_resolve(resolver).run(turn("Add a map", "Hello"))
    assert (after.references, after.edits) == ((), ())
    assert len(after.notes) == 2


def test_references_of_an_earlier_run_do_not_survive(resolver: Resolver) -> None:
    step = make_resolve(resolver)
    once = step.run(turn("Add a map", "Make it wider"))
    assert step.run(replace(once, message="Hello")).references == ()
