"""Conversations teach: answers to questions and corrections, as they happen."""

import logging
from collections.abc import Callable
from datetime import UTC, datetime, timedelta

import pytest

from kds.api.conversations import Conversations
from kds.api.rehearsal import MinuteClock
from kds.brain.clock import utc_now
from kds.brain.turn import ContextEntry, StepRecord, Turn
from kds.brain.workspace import Workspace
from kds.learning import Learning, teach
from kds.learning.corrections import IntentNames, sign_in
from kds.router.prompts.library import PromptLibrary

DASHBOARD = "give the dashboard some love"
Kept = Callable[[], object]


@pytest.fixture
def clock() -> MinuteClock:
    return MinuteClock(utc_now() - timedelta(days=3))


in_files = pytest.mark.parametrize("either_engine", ["files"], indirect=True)


def test_ordinary_turns_leave_nothing(place: Workspace, kept: Kept) -> None:
    here = Conversations.open(place)
    for message in ("I want to add a FAB button", "Make it purple", "No, that's wrong"):
        here.route(message)
    assert kept() == (None, None)
    assert not list(place.brain.glob("lear*"))


def test_the_same_correction_is_offered_once_and_changes_nothing_by_itself(
    place: Workspace, clock: MinuteClock
) -> None:
    here = Conversations.open(place, clock=clock)
    before = here.route(DASHBOARD, log=False).intent
    noted = []
    for _ in range(6):
        here.route(DASHBOARD)
        noted.append(here.route("I meant plan it").noted)
        here.clear()
        clock.now += timedelta(hours=3)
    command = f"kds learn teach '{DASHBOARD}' PLAN"
    assert noted == [
        f"'{DASHBOARD}' as PLAN; so that it counts from now on: {command}", *[None] * 5,
    ]  # fmt: skip
    assert Learning(place).examples() == ()
    assert [one.text for one in Learning(place).corrections()] == [DASHBOARD]
    assert here.route(DASHBOARD, log=False).intent == before
    teach(place, DASHBOARD, "PLAN")
    assert here.route(DASHBOARD, log=True).intent == "PLAN"  # there is nothing to reload
    assert Learning(place).corrections() == ()


@in_files
def test_a_turn_goes_on_when_nothing_can_be_recorded(
    place: Workspace, caplog: pytest.LogCaptureFixture
) -> None:
    (place.brain / "learning.jsonl").mkdir()
    here = Conversations.open(place)
    here.route(DASHBOARD)
    with caplog.at_level(logging.WARNING):
        assert here.route("I meant plan it").message == "I meant plan it"
    assert "nothing was learned" in caplog.text


AT = datetime(2026, 1, 1, 12, tzinfo=UTC)
BEFORE = ContextEntry(AT, "give the dashboard some love", "EXECUTE")
NAMES = IntentNames(PromptLibrary.load())


def turn(message: str, *earlier: ContextEntry, answered: bool = False) -> Turn:
    records = (StepRecord("load"), StepRecord("answer", ("it answers",) if answered else ()))
    return Turn(message, AT, context=earlier or (BEFORE,), intent="PLAN", records=records)


CORRECTIONS = {
    "no, that was a question": "ASK", "I meant plan it, not do it": "PLAN",
    "I meant plan it, not change it": "PLAN", "I wanted tests": "TEST",
    "we were asking for an answer, not for a change": "ASK", "I only wanted a plan!": "PLAN",
    "that should have been a commit": "COMMIT", "No, it's a review": "GOVERN",
    "i meant the planner": "PLAN", "it was a screenshot": "ANALYZE_SCREENSHOT",
}  # fmt: skip
OTHERS = (
    "Make it purple", "No, that's wrong", "I meant the footer", "I said blue, not green",
    "I wanted tests for the login form", "that was not a question", "no tests please",
    "no, run the tests", "this is a test", "plan it", "I meant plan it and test it",
    "I meant execute it",  # it was taken for that
    "that was a correction", "I meant something else", "that was a question\nabout the cache",
    f"I meant plan it {'really ' * 40}",
)  # fmt: skip


def test_a_message_that_names_another_intent_and_no_more_corrects_the_one_before() -> None:
    for message, intent in CORRECTIONS.items():
        event = sign_in(turn(message), NAMES, "window-1")
        assert event is not None, message
        told = ("corrected", "give the dashboard some love", intent, "EXECUTE")
        assert (event.kind, event.text, event.intent, event.was) == told
        assert "window" not in str(event.source)
    assert [one for one in OTHERS if sign_in(turn(one), NAMES)] == []


def test_a_correction_is_about_a_message_that_can_be_an_example_not_about_the_complaint() -> None:
    complaint = ContextEntry(AT, "No, that's wrong", "CORRECT")
    event = sign_in(turn("I meant plan it", BEFORE, complaint), NAMES)
    assert event is not None
    assert event.text == BEFORE.user_message
    for text in ("do it", "use password: hunter2hunter2 there", "x = load(1, 2)"):
        entry = ContextEntry(AT, text, "EXECUTE")
        assert sign_in(turn("I meant plan it", entry), NAMES) is None
