"""Conversations teach: answers to questions and corrections, as they happen."""

import logging
from collections.abc import Callable
from datetime import timedelta

import pytest

from kds.api.conversations import Conversations
from kds.api.rehearsal import MinuteClock
from kds.brain.clock import utc_now
from kds.brain.workspace import Workspace
from kds.learning import Learning, teach

DASHBOARD = "give the dashboard some love"
Kept = Callable[[], object]
MOST_STEPS = 1_000
"""Lines of Python for a turn of the length of a sentence that says nothing about another: four
times what the most laborious needs."""


@pytest.fixture
def clock() -> MinuteClock:
    return MinuteClock(utc_now() - timedelta(days=3))


in_files = pytest.mark.parametrize("either_engine", ["files"], indirect=True)


def kinds(place: Workspace) -> list[tuple[str, str, str]]:
    return [(one.kind, one.text, one.intent) for one in Learning(place).events.load().events]


def test_ordinary_turns_leave_nothing(place: Workspace, kept: Kept) -> None:
    here = Conversations.open(place)
    for message in ("I want to add a FAB button", "Make it purple", "No, that's wrong"):
        here.route(message)
    assert kept() == (None, None)
    assert not list(place.brain.glob("lear*"))


def test_learning_off_records_nothing(place: Workspace, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("KDS_LEARNING", "off")
    here = Conversations.open(place)
    here.route(DASHBOARD)
    here.route("I meant plan it")
    assert kinds(place) == []


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
