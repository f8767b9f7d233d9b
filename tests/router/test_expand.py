"""The expand step."""

from dataclasses import replace
from datetime import UTC, datetime

from kds.brain.turn import ContextEntry, Edit, Reference, Turn
from kds.router.expand import make_expand
from kds.router.references.resolver import Resolver
from kds.router.resolve import make_resolve

NOW = datetime(2025, 11, 3, 9, 30, tzinfo=UTC)
IT = Reference("it", 5, 7, "map", "pron.it", 0.9)


def turn(*messages: str) -> Turn:
    *context, message = messages
    entries = tuple(ContextEntry(NOW, said, "PLAN") for said in context)
    return Turn(message, NOW, context=entries, intent="ASK", session_id="map-20251103")


def run(resolver: Resolver, *messages: str) -> Turn:
    return make_expand(resolver).run(make_resolve(resolver).run(turn(*messages)))


def test_the_edits_it_is_given_are_applied_and_no_others(resolver: Resolver) -> None:
    given = replace(
        turn("Add a map", "Make it wider"), references=(IT,), edits=(Edit(5, 7, "the atlas"),)
    )
    assert make_expand(resolver).run(given).expanded == "Make the atlas wider"
    assert make_expand(resolver).run(replace(given, edits=())).expanded == "Make it wider"


def test_the_first_reference_is_the_context_ref(resolver: Resolver) -> None:
    assert run(resolver, "Add a map", "Make it wider").context_ref == "map"
    assert run(resolver, "Build a stopwatch", "Change the color").context_ref == "stopwatch"


def test_a_message_that_stands_alone_has_no_context_ref(resolver: Resolver) -> None:
    after = run(resolver, "Add a map", "Create a login page")
    assert (after.expanded, after.context_ref, after.context_switch) == (
        "Create a login page",
        None,
        False,
    )


def test_a_topic_switch_is_noticed_and_the_message_stays_as_written(resolver: Resolver) -> None:
    message = "Actually, let's build a login page first"
    after = run(resolver, "Add a map", message)
    assert (after.expanded, after.context_ref, after.context_switch) == (message, None, True)
    assert any("switch." in note for note in after.notes)


def test_the_expansion_is_noted(resolver: Resolver) -> None:
    assert "expanded to 'Make the map wider'" in run(resolver, "Add a map", "Make it wider").notes
    assert "stands alone as written" in run(resolver, "Add a map", "Hello").notes
