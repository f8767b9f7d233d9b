"""Measuring routed turns: only where it is wanted, and never in the way of a turn."""

from datetime import UTC, datetime
from typing import Any

import pytest

from kds.api.conversations import Conversations
from kds.brain.clock import utc_now
from kds.brain.memory.memory_store import TURN, SqliteStore
from kds.brain.turn import StepRecord, Turn
from kds.brain.workspace import Workspace

from ..conftest import Run

EVER = datetime(2020, 1, 1, tzinfo=UTC)


@pytest.fixture
def memory(monkeypatch: pytest.MonkeyPatch) -> None:
    """The memory is on."""
    monkeypatch.setenv("KDS_MEMORY", "on")


def turn() -> Turn:
    records = (StepRecord("classify", (), 3.5),)
    return Turn("Add a secret door", utc_now(), intent="PLAN", action="route", records=records)


def measured(place: Workspace) -> list[dict[str, Any]]:
    with SqliteStore(place.brain / "memory.db") as store:
        return [metric.data for metric in store.metrics.since(EVER, name=TURN)]


def test_a_routed_message_is_measured_where_the_memory_is_on(
    place: Workspace, kds_call: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert kds_call("route", "I want to add a FAB button").code == 0
    assert not (place.brain / "memory.db").exists()
    monkeypatch.setenv("KDS_MEMORY", "on")
    assert kds_call("route", "Make it purple").code == 0
    assert kds_call("route", "Make it green", "--no-log").code == 0
    conversations = Conversations.open(place)
    conversations.route("wrong file", conversation="window-1")
    conversations.route("wrong file", conversation="window-1", log=False)
    rows = measured(place)
    assert len(rows) == 2
    assert {"load", "resolve", "classify", "dispatch"} <= set(rows[0]["cpu_ms"])


def test_a_message_is_remembered_in_the_session_of_its_conversation_or_feature(
    place: Workspace, memory: None
) -> None:
    conversations = Conversations.open(place)
    session = conversations.route("I want to add a FAB button").session_id
    conversations.route("Make it purple")
    conversations.route("I want to add a login form", conversation="window-2")
    assert session is not None
    with SqliteStore(place.brain / "memory.db") as store:
        said = [message.content for message in store.messages(session)]
        assert said == ["I want to add a FAB button", "Make it purple"]
        assert [message.role for message in store.messages("window-2")] == ["user"]


def test_what_was_referred_to_outlives_the_context_until_it_is_cleared(
    place: Workspace, memory: None
) -> None:
    conversations = Conversations.open(place)
    conversations.route("I want to add a FAB button")
    conversations.route("Make it purple")
    conversations.journal().clear()  # as if it had expired
    assert conversations.route("Make it round").expanded == "Make the FAB button round"
    conversations.clear()
    assert conversations.route("Make it round").expanded == "Make it round"
