"""Reading off a turn which intent a message was meant to have."""

from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kds.brain.turn import ContextEntry, StepRecord, Turn
from kds.learning.corrections import IntentNames, sign_in
from kds.router.prompts.library import PromptLibrary

AT = datetime(2026, 1, 1, 12, tzinfo=UTC)
BEFORE = ContextEntry(AT, "give the dashboard some love", "EXECUTE")
NAMES = IntentNames(PromptLibrary.load())


def turn(message: str, *earlier: ContextEntry, answered: bool = False) -> Turn:
    records = (StepRecord("load"), StepRecord("answer", ("it answers",) if answered else ()))
    return Turn(message, AT, context=earlier or (BEFORE,), intent="PLAN", records=records)


@pytest.mark.parametrize(
    ("message", "intent"),
    [
        ("no, that was a question", "ASK"),
        ("I meant plan it, not do it", "PLAN"),
        ("I meant plan it, not change it", "PLAN"),
        ("I wanted tests", "TEST"),
        ("we were asking for an answer, not for a change", "ASK"),
        ("that should have been a commit", "COMMIT"),
        ("No, it's a review", "GOVERN"),
        ("I only wanted a plan!", "PLAN"),
        ("i meant the planner", "PLAN"),
        ("it was a screenshot", "ANALYZE_SCREENSHOT"),
    ],
)
def test_a_message_that_names_an_intent_corrects_the_one_before(message: str, intent: str) -> None:
    event = sign_in(turn(message), NAMES, "window-1")
    assert event is not None
    assert (event.kind, event.text, event.intent, event.was) == (
        *("corrected", "give the dashboard some love"),
        *(intent, "EXECUTE"),
    )
    assert "window" not in str(event.source)


@pytest.mark.parametrize(
    "message",
    [
        "Make it purple",
        "No, that's wrong",
        "I meant the footer",
        "I said blue, not green",
        "I wanted tests for the login form",
        "that was not a question",
        "no tests please",
        "no, run the tests",
        "this is a test",
        "plan it",
        "I meant plan it and test it",
        "I meant execute it",  # it was taken for that
        "that was a correction",
        "I meant something else",
        "that was a question\nabout the cache",
        f"I meant plan it {'really ' * 40}",
    ],
)
def test_what_names_no_other_intent_or_says_more_teaches_nothing(message: str) -> None:
    assert sign_in(turn(message), NAMES) is None


def test_a_correction_is_about_the_message_not_about_the_complaint() -> None:
    complaint = ContextEntry(AT, "No, that's wrong", "CORRECT")
    event = sign_in(turn("I meant plan it", BEFORE, complaint), NAMES)
    assert event is not None
    assert event.text == BEFORE.user_message


@pytest.mark.parametrize("text", ["do it", "use password: hunter2hunter2 there", "x = load(1, 2)"])
def test_what_cannot_be_an_example_is_not_even_recorded(text: str) -> None:
    entry = ContextEntry(AT, text, "EXECUTE")
    assert sign_in(turn("I meant plan it", entry), NAMES) is None


@given(st.text(max_size=100), st.text(max_size=60))
def test_no_message_is_too_strange(message: str, before: str) -> None:
    event = sign_in(turn(message, ContextEntry(AT, before, "EXECUTE")), NAMES)
    assert event is None or event.text == before
