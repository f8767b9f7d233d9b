"""Each client's sessions, as it writes them."""

import json
import os
import sqlite3
import time
from collections.abc import Mapping
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from kds.transcripts.databases import SpecStory
from kds.transcripts.formats import About, Reader, call_text, told
from kds.transcripts.importing import readers

from .conftest import Write

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
def test_a_recorded_session_is_read_with_its_commands_and_their_errors(
    clients: Mapping[str, Reader], client: str
) -> None:
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


def cursor_database(home: Path, bubbles: list[dict[str, Any]], **more: Any) -> None:
    user = home / ".config" / "Cursor" / "User"
    workspace = user / "workspaceStorage" / "1f"
    (user / "globalStorage").mkdir(parents=True, exist_ok=True)
    workspace.mkdir(parents=True, exist_ok=True)
    (workspace / "workspace.json").write_text('{"folder": "file:///home/me/my%20shop"}')
    heads = [{"bubbleId": one["bubbleId"], "type": one["type"]} for one in bubbles]
    data = {"name": "Ports", "createdAt": 1767225600000, "lastUpdatedAt": 1767225700000,
            "fullConversationHeadersOnly": heads, **more}  # fmt: skip
    rows = {"composerData:c1": data} | {f"bubbleId:c1:{one['bubbleId']}": one for one in bubbles}
    tables = {
        user / "globalStorage" / "state.vscdb": ("cursorDiskKV", rows),
        workspace / "state.vscdb": (
            "ItemTable", {"composer.composerData": {"allComposers": [{"composerId": "c1"}]}},
        ),
    }  # fmt: skip
    for path, (table, values) in tables.items():
        with closing(sqlite3.connect(path)) as connection, connection:
            connection.execute(f"CREATE TABLE {table}(key TEXT UNIQUE, value BLOB)")
            connection.executemany(
                f"INSERT INTO {table} VALUES (?, ?)",
                [(key, json.dumps(value).encode()) for key, value in values.items()],
            )


def test_cursors_database_is_read_with_the_folder_of_its_workspace(home: Path) -> None:
    used = {"name": "run_terminal_cmd", "rawArgs": '{"command": "make test"}',
            "result": '{"output": "E  ImportError: no x", "exitCode": 1}'}  # fmt: skip
    cursor_database(
        home,
        [
            {"bubbleId": "b1", "type": 1, "text": "Which port?"},
            {"bubbleId": "b2", "type": 2, "text": "", "toolFormerData": used},
            {"bubbleId": "b3", "type": 2, "text": "8443"},
        ],
    )
    said, about = read(readers(home, {})["cursor"])
    assert said == [
        ("user", "Which port?"),
        ("tool", "$ make test"),
        ("tool", "! E  ImportError: no x"),
        ("assistant", "8443"),
    ]
    assert (about.folder, about.title) == ("/home/me/my shop", "Ports")


def test_a_session_of_cursor_of_2026_has_its_folder_and_branch_in_its_head(home: Path) -> None:
    edit = {"name": "edit_file_v2", "params": {"relativeWorkspacePath": "src/ports.py"},
            "rawArgs": '{"streamingContent": "port = 8443"}', "status": "completed"}  # fmt: skip
    notice = "<timestamp>now</timestamp>\n<system_notification>a task has ended"
    bubbles: list[dict[str, Any]] = [
        {"bubbleId": "b1", "type": 1, "text": "Which port?"},
        {"bubbleId": "b2", "type": 2, "text": "", "toolFormerData": edit},
        {"bubbleId": "b3", "type": 1, "text": notice},
    ]
    cursor_database(home, bubbles, name="")
    user = home / ".config" / "Cursor" / "User"
    with closing(sqlite3.connect(user / "globalStorage" / "state.vscdb")) as connection, connection:
        connection.execute(
            "CREATE TABLE composerHeaders(composerId TEXT PRIMARY KEY, workspaceId TEXT, "
            "createdAt INTEGER, lastUpdatedAt INTEGER, isArchived INTEGER, isSubagent INTEGER, "
            "recency INTEGER, checkpointAt INTEGER, value TEXT, subagentTypeName TEXT)"
        )
        head = {"name": "Ports", "createdOnBranch": "main", "activeBranch": {"branchName": "ports"}}
        connection.execute("INSERT INTO cursorDiskKV VALUES ('composerData:sub', '{}')")
        for name, sub, value in (("c1", 0, head), ("sub", 1, {})):
            connection.execute(
                "INSERT INTO composerHeaders(composerId, workspaceId, isSubagent, value) "
                "VALUES (?, '1f', ?, ?)",
                (name, sub, json.dumps(value)),
            )
    (user / "workspaceStorage" / "1f" / "state.vscdb").unlink()
    said, about = read(readers(home, {})["cursor"])
    assert said == [("user", "Which port?"), ("tool", "edited src/ports.py")]
    assert (about.folder, about.branch, about.title) == ("/home/me/my shop", "ports", "Ports")


def test_a_reply_that_cursor_is_still_writing_waits(home: Path) -> None:
    bubbles = [
        {"bubbleId": "b1", "type": 1, "text": "Hi"},
        {"bubbleId": "b2", "type": 2, "text": "He"},
    ]
    cursor_database(home, bubbles, status="generating")
    said, about = read(readers(home, {})["cursor"])
    assert said == [("user", "Hi")]
    assert about.unfinished


EXPORTS = {
    "Claude Code, Markdown v2.1.0": (
        """<!-- Generated by SpecStory, Markdown v2.1.0 -->

# 2026-02-12 20:34:45Z

<!-- Claude Code Session 00c93b40-ec98-46c2-894d-ec01c6a94bb7 (2026-02-12 20:34:45Z) -->

_**User (2026-02-12 20:34:45Z)**_

Which port does staging use?

---

_**Agent (claude-opus-4-6 2026-02-12 20:35:00Z)**_

<think><details><summary>Thought Process</summary>
hm
</details></think>

_**Agent (claude-opus-4-6 2026-02-12 20:35:10Z)**_

<tool-use data-tool-type="shell" data-tool-name="Bash"><details>
<summary>Tool use: **Bash**</summary>
Print the ports

`make ports 2>&1`

```text
Exit code 2
ImportError: no module named yaml
```
</details></tool-use>

_**Agent (claude-opus-4-6 2026-02-12 20:35:12Z)**_

<tool-use data-tool-type="write" data-tool-name="Edit"><details>
<summary>Tool use: **Edit**</summary>

```text
The file /home/me/shop/ports.py has been updated successfully.
```
</details></tool-use>

_**Agent (claude-opus-4-6 2026-02-12 20:35:14Z)**_

<tool-use data-tool-type="shell" data-tool-name="Bash"><details>
<summary>Tool use: **Bash**</summary>
Again

```bash
cd shop
make ports
```

```text
8443
```
</details></tool-use>

_**Agent (claude-opus-4-6 2026-02-12 20:35:16Z)**_

Port 8443. Exports look like this:

```md
_**User**_
Hello
```

_**Agent - sidechain (claude-haiku 2026-02-12 20:35:20Z)**_

Of a subagent.

_**User (2026-02-12 20:36:00Z)**_

[Request interrupted by user]
""",
        [
            ("user", "Which port does staging use?"),
            ("tool", "$ make ports 2>&1"),
            ("tool", "> Exit code 2\n! ImportError: no module named yaml"),
            ("tool", "edited /home/me/shop/ports.py"),
            ("tool", "$ cd shop\nmake ports"),
            ("tool", "> 8443"),
            (
                "assistant",
                "Port 8443. Exports look like this:\n\n```md\n_**User**_\nHello\n```",
            ),
        ],
        "",
    ),
    "Cursor, Markdown v2.1.0": (
        """<!-- Generated by SpecStory, Markdown v2.1.0 -->

<!-- cursor Session 227b9a24-168c-4d87-810b-9ed83e62101e (2025-12-02 12:49Z) -->

# Ports of staging (2025-12-02 12:49Z)

_**User (2025-12-02 12:49Z)**_

Which port?

---

_**Agent (model claude-4.5-opus, mode Agent)**_

<tool-use data-tool-type="write" data-tool-name="search_replace">

<details><summary>Tool use: **code_edit** • Edit file: src/my ports.py</summary>

**Chunk 1**
Lines added: 1, lines removed: 0

```diff
+ port = &#96;8443&#96;
```

</details>

</tool-use>

---

<tool-use data-tool-type="shell" data-tool-name="run_terminal_cmd">
<details><summary>Tool use: **command** • Run command: make a &amp;&amp; make b</summary>

```bash
make a && make b
```

```
4 passed
```

</details>
</tool-use>

---

8443.

---

It is free.

---
""",
        [
            ("user", "Which port?"),
            ("tool", "edited src/my ports.py"),
            ("tool", "$ make a && make b"),
            ("tool", "> 4 passed"),
            ("assistant", "8443.\n\nIt is free."),
        ],
        "Ports of staging",
    ),
    "of 2025, with bare calls": (
        """<!-- Generated by SpecStory -->

# Ports (2025-07-20 10:28:48Z)

<!-- Claude Code Session 5d9e10a7-a8e4-437c-99fe-a159a3440a5f (2025-07-20_10-28-48Z) -->

_**User**_

Which port?

---

_**Agent (claude-opus-4-20250514)**_

Tool use: **Bash** Print the ports

`make ports`

Error:

```
no rule to make target
```

_**Agent (claude-opus-4-20250514)**_

Tool use: **Write**

```md
# Ports
```

Result:

```
File created successfully at: /home/me/shop/ports.md
```

_**Agent (claude-opus-4-20250514)**_

8443
""",
        [
            ("user", "Which port?"),
            ("tool", "$ make ports"),
            ("tool", "! no rule to make target"),
            ("tool", "edited /home/me/shop/ports.md"),
            ("assistant", "8443"),
        ],
        "Ports",
    ),
    "the first of Cursor": (
        """## SpecStory

## Ports of staging (2/13/2025, 9:33:58 AM)

_**User**_

Which port?

---

_**Assistant**_

Let me see.

---

_****_

8443

---
""",
        [("user", "Which port?"), ("assistant", "Let me see."), ("assistant", "8443")],
        "Ports of staging",
    ),
}
"""Written anew in the forms of exports that are committed in public repositories."""


@pytest.mark.parametrize("export", EXPORTS)
def test_an_export_of_specstory_is_read(tmp_path: Path, export: str) -> None:
    text, expected, title = EXPORTS[export]
    path = tmp_path / "shop" / ".specstory" / "history" / "2025-02-12_20-34-45Z-port.md"
    path.parent.mkdir(parents=True)
    path.write_text(text)
    os.utime(path, (old := time.time() - 3600, old))
    reader = SpecStory([tmp_path / "shop"])
    said, about = read(reader)
    assert said == expected
    assert (about.folder, about.title) == (str(tmp_path / "shop"), title)
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
def test_of_a_call_the_command_or_the_changed_file_is_kept(
    tool: str, arguments: Any, text: str
) -> None:
    assert call_text(tool, arguments) == text


def test_a_format_that_is_not_known_is_named(home: Path) -> None:
    path = next((home / ".codex").rglob("*.jsonl"))
    path.write_text('{"record": 1}\n{"record": 2}\n')
    said, about = read(readers(home, {})["codex"])
    assert (said, list(about.unknown)) == ([], ["not a session of codex that KDS knows"])


def test_damaged_lines_are_counted_and_the_rest_is_read(home: Path) -> None:
    path = next((home / ".codex").rglob("*.jsonl"))
    lines = path.read_bytes().splitlines(keepends=True)
    path.write_bytes(
        b"".join((lines[0], b'{"type":"response_item", \xff\n', b"\x00\n", *lines[1:]))
    )
    said, about = read(readers(home, {})["codex"])
    assert len(said) == 6
    assert about.unknown == {"a line that is not JSON": 1}


def test_a_link_or_a_pipe_in_the_place_of_a_session_is_not_read(home: Path, claude: Write) -> None:
    path = claude("a", "Hi")
    path.with_name("b.jsonl").symlink_to(path)
    os.mkfifo(path.with_name("c.jsonl"))
    names = {one.session for one in readers(home, {})["claude"].sources()}
    assert {"b", "c"}.isdisjoint(names)
