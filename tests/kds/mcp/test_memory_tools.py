"""The memory over MCP: `memory_search`, `session_list`, `session_export`."""

import json
from pathlib import Path

import pytest
from mcp import Client

from kds.brain.memory.memory_store import SqliteStore
from kds.brain.workspace import Workspace
from kds.mcp.mcp_server import KdsServer
from kds.mcp.tools import EXPORT_CHARACTERS

from .conftest import Talk

BUS = "The bus timetable says line 12 leaves at nine."


@pytest.fixture(scope="session")
def held(mcp_workspace: Path) -> SqliteStore:
    """Three sessions in the memory of the served workspace."""
    with SqliteStore(mcp_workspace / "kds-brain" / "memory.db") as store:
        bus = store.create_session(session_id="bus", title="Timetables")
        store.append(bus.id, "user", BUS, speaker="Ada")
        store.append(bus.id, "assistant", "```python\ndef next_bus_at(stop):\n    return 9\n```")
        long = store.create_session(session_id="long", title="A long story")
        store.append(long.id, "user", "tale " * (EXPORT_CHARACTERS // 4))
        store.create_session(session_id="lunch", title="Lunch")
    return store


def test_a_search_finds_what_was_said_and_where(stdio: Talk, held: SqliteStore) -> None:
    found = stdio.data("memory_search", query="when does line 12 leave", limit=3)
    best = found["hits"][0]
    assert (best["text"].strip(), best["session"], best["title"]) == (BUS, "bus", "Timetables")
    assert best["why"]


def test_a_search_in_one_session_marks_what_is_of_another(stdio: Talk, held: SqliteStore) -> None:
    found = stdio.data("memory_search", query="nextBusAt", session="Lunch")
    assert found["hits"][0]["elsewhere"]
    assert found["hits"][0]["kind"] == "code"


def test_sessions_are_listed_a_page_at_a_time(stdio: Talk, held: SqliteStore) -> None:
    first = stdio.data("session_list", limit=2)
    assert [one["id"] for one in first["sessions"]] == ["lunch", "long"]
    rest = stdio.data("session_list", limit=2, offset=first["next_offset"])
    assert [one["id"] for one in rest["sessions"]] == ["bus"]
    assert rest["next_offset"] is None


def test_a_session_is_written_out_in_both_formats(stdio: Talk, held: SqliteStore) -> None:
    assert stdio.data("session_export", session="Timetables")["content"].startswith(
        "# Timetables\n"
    )
    exported = stdio.data("session_export", session="bus", format="json")
    [session] = json.loads(exported["content"])["sessions"]
    assert [message["role"] for message in session["messages"]] == ["user", "assistant"]


def test_a_long_session_comes_in_parts(stdio: Talk, held: SqliteStore) -> None:
    content, offset = "", 0
    while offset is not None:
        part = stdio.data("session_export", session="long", offset=offset)
        assert len(part["content"]) <= EXPORT_CHARACTERS
        content += part["content"]
        offset = part["next_offset"]
    assert len(content) == part["characters"] > EXPORT_CHARACTERS


@pytest.mark.parametrize(
    ("tool", "arguments", "message"),
    [
        ("session_export", {"session": "supper"}, "no session 'supper'"),
        ("memory_search", {"query": "bus", "session": "supper"}, "no session 'supper'"),
        ("memory_search", {"query": "  "}, "the query is empty"),
        ("memory_search", {"query": "bus", "limit": 0}, "limit"),
        ("session_list", {"limit": 100_000}, "limit"),
    ],
)
def test_what_cannot_be_is_refused_with_a_reason(
    tool: str, arguments: dict[str, object], message: str, stdio: Talk, held: SqliteStore
) -> None:
    result = stdio.call(tool, **arguments)
    assert result.is_error
    assert message in stdio.text(tool, **arguments)


@pytest.mark.anyio
async def test_looking_into_a_workspace_without_memory_makes_none(tmp_path: Path) -> None:
    async with Client(KdsServer(Workspace(tmp_path, tmp_path / "kds-brain"))) as client:
        sessions = await client.call_tool("session_list", {})
        hits = await client.call_tool("memory_search", {"query": "bus"})
    assert sessions.structured_content["sessions"] == []
    assert "nothing is remembered yet" in str(hits.structured_content)
    assert not (tmp_path / "kds-brain" / "memory.db").exists()
