from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import pytest

from kds.brain.turn import UNKNOWN, ContextEntry, Turn
from kds.router.classify import make_classify
from kds.router.intents.model import IntentModel
from kds.router.pipeline import Step

AT = datetime(2025, 11, 3, 12, 0, tzinfo=UTC)
MULTI = Path(__file__).parent / "multi_intent_messages.tsv"


@pytest.fixture(scope="module")
def step(packaged_model: IntentModel) -> Step:
    return make_classify(packaged_model)


def turn(message: str, expanded: str = "", *, previous: str | None = None) -> Turn:
    context = (ContextEntry(AT, "before", previous, "s-20251103"),) if previous else ()
    return Turn(message, AT, context=context, expanded=expanded or message)


def multi() -> list[tuple[list[str], str]]:
    lines = MULTI.read_text(encoding="utf-8").splitlines()
    pairs = [line.split("\t") for line in lines if not line.startswith("#")]
    return [(intents.split(), text) for intents, text in pairs]


@pytest.mark.parametrize(
    ("message", "intent", "secondary"),
    [
        ("I want to add dark mode and test it", "PLAN", ("TEST",)),
        ("Continue and then run the validation", "EXECUTE", ("VALIDATE",)),
        ("Rename the class to X, then run the tests and commit", "EXECUTE", ("TEST", "COMMIT")),
        ("Make it purple and move it to the left", "EXECUTE", ()),
        ("What is the difference between commit and push?", "ASK", ()),
        ("Wrong file. Change the other one", "CORRECT", ()),
        ("Perfect. Commit this", "COMMIT", ()),
        ("Ok. What is the difference between commit and push?", "ASK", ()),
        ("I changed the planner prompt. Please check it", "GOVERN", ()),
        ("Fix the login bug and run the tests", "DEBUG", ("TEST",)),
        ("How do I start the server and open the page?", "ASK", ()),
    ],
)
def test_requests_of_different_kinds_are_told_apart(
    step: Step, message: str, intent: str, secondary: tuple[str, ...]
) -> None:
    done = step.run(turn(message, previous="PLAN"))
    assert (done.intent, done.secondary_intents) == (intent, secondary)


def test_adding_to_a_thing_in_play_changes_it(step: Step) -> None:
    talk = (ContextEntry(AT, "I want to add a FAB button", "PLAN", "fab-20251103"),)
    for message, intent in (
        ("can you please add a shadow to the FAB button", "EXECUTE"),
        ("Could you please add a captcha to the form", "PLAN"),
        ("Actually, make it optional", "CORRECT"),
    ):
        assert step.run(Turn(message, AT, context=talk, expanded=message)).intent == intent


def test_multi_intent_messages_are_split_and_others_are_not(step: Step) -> None:
    """Measured 40 of 41; no single message is split."""
    right = 0
    for intents, text in multi():
        done = step.run(turn(text))
        found = [done.intent, *done.secondary_intents]
        right += found == intents
        assert len(intents) > 1 or len(found) == 1, f"{text!r} was split into {found}"
    assert right / len(multi()) >= 0.9


def test_after_a_topic_switch_the_past_says_nothing(step: Step) -> None:
    switched = replace(turn("And in winter?", previous="ASK"), context_switch=True)
    assert not any("conversation speaks for ASK" in note for note in step.run(switched).notes)
    kept = step.run(turn("And in winter?", previous="ASK"))
    assert any("conversation speaks for ASK" in note for note in kept.notes)


def test_dropping_a_matter_is_not_an_order_to_do_or_to_unlearn_anything(step: Step) -> None:
    for message in ("forget it", "Forget that.", "ok, forget about it"):
        done = step.run(turn(message, previous="PLAN"))
        assert (done.intent, done.confidence) == (UNKNOWN, 0.0)
