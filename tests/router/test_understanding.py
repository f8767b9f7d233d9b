"""One list of steps makes out what a message means, for turns and for queries."""

from datetime import UTC, datetime

from kds.brain.turn import Turn, Utterance
from kds.router.intents.model import IntentModel
from kds.router.pipeline import run_steps
from kds.router.references.decision import Decider
from kds.router.references.resolver import Resolver
from kds.router.understanding import named, sent_along, understanding

AT = datetime(2025, 11, 3, 9, 0, tzinfo=UTC)


def read(
    resolver: Resolver, model: IntentModel, decider: Decider | None, message: str, *said: str
) -> Turn:
    history = tuple(Utterance(text) for text in said)
    steps = understanding(
        resolver, model, sent_along(resolver), decider=decider, precision=lambda: 1.0
    )
    turn = Turn(message, AT, history=history)
    return run_steps(steps, turn)


def test_a_conversation_that_is_sent_along_is_read_as_one_that_is_remembered(
    resolver: Resolver, packaged_model: IntentModel
) -> None:
    found = read(resolver, packaged_model, None, "Make it purple", "I want to add a FAB button")
    assert (found.expanded, found.context_ref) == ("Make the FAB button purple", "FAB button")
    assert found.intent == "EXECUTE"
    found = read(
        resolver, packaged_model, Decider({}, -9.0), "Make it purple", "I want to add a FAB button"
    )
    assert (found.expanded, found.unresolved) == ("Make it purple", ("it",))


def test_steps_are_taken_by_name(resolver: Resolver, packaged_model: IntentModel) -> None:
    steps = understanding(resolver, packaged_model, sent_along(resolver))
    assert [step.name for step in named(steps, "expand", "resolve")] == ["resolve", "expand"]
