"""The memory over MCP: `memory_search`."""

from pathlib import Path

import pytest

from kds.brain.memory.memory_store import SqliteStore

from .conftest import Talk

BUS = "The bus timetable says line 12 leaves at nine."


@pytest.fixture(scope="session")
def held(mcp_workspace: Path) -> SqliteStore:
    """Two sessions in the memory of the served workspace."""
    with SqliteStore(mcp_workspace / "kds-brain" / "memory.db") as store:
        bus = store.create_session(session_id="bus", title="Timetables")
        store.append(bus.id, "user", BUS, speaker="Ada")
        store.append(bus.id, "assistant", "```python\ndef next_bus_at(stop):\n    return 9\n```")
        store.create_session(session_id="lunch", title="Lunch")
    return store


def test_a_search_finds_what_was_said_and_where_or_tells_that_there_is_no_such_session(
    stdio: Talk, held: SqliteStore
) -> None:
    found = stdio.data("memory_search", query="when does line 12 leave", limit=3)
    best = found["hits"][0]
    assert (best["text"].strip(), best["session"], best["title"]) == (BUS, "bus", "Timetables")
    assert best["why"]
    found = stdio.data("memory_search", query="nextBusAt", session="Lunch")
    assert found["hits"][0]["elsewhere"]
    assert found["hits"][0]["kind"] == "code"
    assert "no session 'supper'" in stdio.text("memory_search", query="bus", session="supper")
