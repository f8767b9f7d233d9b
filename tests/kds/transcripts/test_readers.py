"""Each client's sessions, as it writes them."""

import json
import os
import shutil
import sqlite3
import time
from collections.abc import Mapping
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
import yaml

from kds.transcripts.formats import About, Reader, call_text, told
from kds.transcripts.importing import readers
from kds.transcripts.specstory import SpecStory

from .conftest import RECORDED, Write

EXPORTS, CURSOR = (
    yaml.safe_load((RECORDED / name).read_text("utf-8"))
    for name in ("specstory/expected.yaml", "cursor.yaml")
)
COMMAND = "$ echo one; echo ImportError: no module named frobnicate >&2; exit 3"
FAILED = "> one\n! ImportError: no module named frobnicate"
MENDED = "The tests fail since the module `frobnicate` is missing; I added it to requirements.txt."


def read(reader: Reader, start: int = 0) -> tuple[list[tuple[str, str]], About]:
    [source] = reader.sources()
    about = About(source.client, source.session)
    said: list[tuple[str, str]] = [
        (one.role, one.text) for one in told(reader.read(source, start, about)) if one.text
    ]
    return said, about


@pytest.mark.parametrize("client", ["codex", "copilot", "gemini", "opencode"])
def test_a_recorded_session_is_read_with_errors(clients: Mapping[str, Reader], client: str) -> None:
    said, about = read(clients[client])
    assert said == [
        ("user", "Which staging port do we use?"),
        (
            "assistant",
            "Decision: staging listens on port 8443, because 8080 is taken by the proxy.",
        ),
        ("user", "Run the tests"),
        ("tool", COMMAND),
        ("tool", FAILED),
        ("assistant", MENDED),
    ]
    assert about.folder == "/home/me/shop"
    assert not about.unknown


def test_a_recorded_session_of_claude_code_is_read(clients: Mapping[str, Reader]) -> None:
    said, about = read(clients["claude"])
    assert [text for _, text in said][-3:] == [
        COMMAND,
        "! This Bash command contains multiple operations. "
        "The following part requires approval: exit 3",
        MENDED,
    ]
    assert (about.folder, about.branch) == ("/home/me/shop", "main")


def test_what_claude_code_adds_in_the_users_name_is_left_out(home: Path, claude: Write) -> None:
    claude(
        "a",
        "Which port?<system-reminder>\nbe brief\n</system-reminder>",
        "8443",
        "<command-name>/clear</command-name>",
        "ok",
        "<task-notification>done</task-notification>",
    )
    (next((home / ".claude").glob("projects/-home*/*.jsonl"))).unlink()
    said, _ = read(readers(home, {})["claude"])
    assert said == [("user", "Which port?"), ("assistant", "8443"), ("assistant", "ok")]


def cursor_database(home: Path, case: Mapping[str, Any]) -> None:
    """Write what Cursor keeps of a session, as far as a case of cursor.yaml says."""
    user = home / ".config" / "Cursor" / "User"
    workspace = user / "workspaceStorage" / "1f"
    for folder in (user / "globalStorage", workspace):
        folder.mkdir(parents=True)
    (workspace / "workspace.json").write_text('{"folder": "file:///home/me/my%20shop"}')
    heads = [{"bubbleId": one["bubbleId"], "type": one["type"]} for one in case["bubbles"]]
    rows = {"composerData:c1": {"fullConversationHeadersOnly": heads, **case["data"]}}
    rows |= {f"bubbleId:c1:{one['bubbleId']}": one for one in case["bubbles"]}
    tables = {user / "globalStorage": ("cursorDiskKV", rows)}
    if not case.get("heads"):
        composers = {"allComposers": [{"composerId": "c1"}]}
        tables[workspace] = ("ItemTable", {"composer.composerData": composers})
    for folder, (table, values) in tables.items():
        with closing(sqlite3.connect(folder / "state.vscdb")) as connection, connection:
            connection.execute(f"CREATE TABLE {table}(key TEXT UNIQUE, value BLOB)")
            coded = [(key, json.dumps(value).encode()) for key, value in values.items()]
            connection.executemany(f"INSERT INTO {table} VALUES (?, ?)", coded)
            for name, sub, head in case.get("heads", ()) if table == "cursorDiskKV" else ():
                connection.execute(
                    "CREATE TABLE IF NOT EXISTS composerHeaders(composerId TEXT PRIMARY KEY, "
                    "workspaceId TEXT, isArchived INTEGER, isSubagent INTEGER, value TEXT)"
                )
                query = "INSERT INTO composerHeaders VALUES (?, '1f', 0, ?, ?)"
                connection.execute(query, (name, sub, json.dumps(head)))


@pytest.mark.parametrize("case", CURSOR)
def test_a_session_of_cursor_is_read(home: Path, case: str) -> None:
    cursor_database(home, CURSOR[case])
    said, about = read(readers(home, {})["cursor"])
    assert [dict([one]) for one in said] == CURSOR[case]["said"]
    found = {"folder": about.folder, "branch": about.branch, "title": about.title}
    assert found == {"branch": "", **CURSOR[case]["about"]}
    assert about.unfinished == (CURSOR[case]["data"].get("status") == "generating")


@pytest.mark.parametrize("export", EXPORTS)
def test_an_export_of_specstory_is_read(tmp_path: Path, export: str) -> None:
    path = tmp_path / "shop" / ".specstory" / "history" / "2025-02-12_20-34-45Z-port.md"
    path.parent.mkdir(parents=True)
    shutil.copyfile(RECORDED / "specstory" / f"{export}.md", path)
    os.utime(path, (old := time.time() - 3600, old))
    reader = SpecStory([tmp_path / "shop"])
    said, about = read(reader)
    assert [dict([one]) for one in said] == EXPORTS[export]["said"]
    assert (about.folder, about.title) == (str(tmp_path / "shop"), EXPORTS[export]["title"])
    [source] = reader.sources()
    assert all(one.at and one.at.year in (2025, 2026) for one in reader.read(source, 0, about))


@pytest.mark.parametrize(
    ("tool", "arguments", "text"),
    [
        ("Bash", {"command": "ls -la src"}, ""),
        ("Bash", {"command": "cd src && ls; cat a | head"}, ""),
        ("Bash", {"command": "cd src && make"}, "$ cd src && make"),
        ("shell", {"command": ["bash", "-lc", "make"]}, "$ make"),
        ("apply_patch", "*** Begin Patch\n*** Update File: a.py\n@@", "edited a.py"),
        ("write_file", {"file_path": "b.py"}, "edited b.py"),
        ("Read", {"file_path": "b.py"}, ""),
        ("Grep", None, ""),
    ],
)
def test_of_a_call_the_command_or_file_is_kept(tool: str, arguments: Any, text: str) -> None:
    assert call_text(tool, arguments) == text


def test_a_format_that_is_not_known_is_named(home: Path) -> None:
    path = next((home / ".codex").rglob("*.jsonl"))
    path.write_text('{"record": 1}\n{"record": 2}\n')
    said, about = read(readers(home, {})["codex"])
    assert (said, list(about.unknown)) == ([], ["not a session of codex that KDS knows"])
