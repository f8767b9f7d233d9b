"""Importing: once each, whatever happens in between, and gone for good when it is forgotten."""

import json
import os
import shutil
import sqlite3
import subprocess
import sys
import tracemalloc
from collections.abc import Callable, Mapping
from contextlib import closing
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from kds.transcripts import importing
from kds.transcripts.catalogue import AssistantMemory
from kds.transcripts.formats import Reader
from kds.transcripts.importing import Report, import_sessions, readers
from kds.transcripts.repository import place_name
from kds.transcripts.specstory import WHOLE_LIMIT

from .conftest import Write, claude_line, contents
from .test_readers import cursor_database

in_either = pytest.mark.usefixtures("on_server")


def run(memory: AssistantMemory, home: Path, **options: object) -> Report:
    return import_sessions(memory, readers(home, {}), **({"only": None} | options))  # type: ignore[arg-type]


@in_either
def test_every_client_is_imported_once(memory: AssistantMemory, home: Path) -> None:
    first = run(memory, home)
    assert dict(first.sessions) == dict.fromkeys(
        ("claude", "codex", "copilot", "gemini", "opencode"), 1
    )
    assert first.problems == []
    before = contents(memory)
    assert len(before) == 20
    again = run(memory, home)
    assert (again.messages.total(), again.unchanged) == (0, 5)
    assert contents(memory) == before


@in_either
def test_a_growing_session_is_read_on(memory: AssistantMemory, home: Path, claude: Write) -> None:
    path = claude("a", "First question", "First answer", "Second", ending="")
    run(memory, home)
    assert "Second" not in contents(memory)
    with path.open("a") as file:
        file.write("\n" + json.dumps(claude_line("a", 3, "Second answer", "/home/me/shop")) + "\n")
    run(memory, home)
    mine = [text for text in contents(memory) if text.startswith(("First", "Second"))]
    assert mine == ["First question", "First answer", "Second", "Second answer"]


@in_either
def test_a_rewritten_file_is_read_anew(memory: AssistantMemory, home: Path, claude: Write) -> None:
    claude("a", "First question", "First answer", "Second question")
    run(memory, home)
    claude("a", "Another beginning")
    run(memory, home)
    texts = contents(memory)
    assert "Another beginning" in texts
    assert "First question" not in texts


@in_either
def test_a_fork_brings_only_what_is_new(memory: AssistantMemory, home: Path, claude: Write) -> None:
    path = claude("a", "Question", "Answer")
    fork = path.with_name("b.jsonl")
    more = json.dumps(claude_line("b", 2, "Only in the fork", "/home/me/shop"))
    fork.write_text(path.read_text() + more + "\n")
    run(memory, home)
    texts = contents(memory)
    assert (texts.count("Question"), texts.count("Only in the fork")) == (1, 1)


def test_a_session_of_gemini_in_two_files_stays_whole(memory: AssistantMemory, home: Path) -> None:
    [path] = (home / ".gemini").rglob("session-*.jsonl")
    run(memory, home)
    before = contents(memory)
    head = path.read_text().split("\n", 1)[0]
    path.with_name("session-2026-12-01T10-00-ebe3c5c6.jsonl").write_text(head + "\n")
    for _ in range(2):
        report = run(memory, home)
        assert (report.problems, contents(memory)) == ([], before)


def session_of_tools(path: Path, lines: int) -> int:
    """Write a session whose commands print half a megabyte each; its size."""
    output = "".join(f"line {number} of the output\n" for number in range(20_000))
    with path.open("w") as file:
        for number in range(lines):
            entry = claude_line("tools", 2 * number, "", "/home/me/shop")
            result = {"type": "tool_result", "tool_use_id": "t", "content": output}
            entry["message"]["content"] = [{"type": "text", "text": f"step {number}"}, result]
            file.write(json.dumps(entry) + "\n")
    return path.stat().st_size


def test_a_session_takes_little_memory(memory: AssistantMemory, home: Path, claude: Write) -> None:
    size = session_of_tools(claude("tools"), 60)
    tracemalloc.start()
    try:
        run(memory, home)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert "step 59" in contents(memory)
    assert (size > 25 * 2**20, peak < 12 * 2**20) == (True, True), (size, peak)


def test_a_huge_export_is_only_named(memory: AssistantMemory, home: Path, tmp_path: Path) -> None:
    export = tmp_path / "shop" / ".specstory" / "history" / "x.md"
    export.parent.mkdir(parents=True)
    with export.open("wb") as file:
        file.truncate(WHOLE_LIMIT + 1)
    chosen = readers(home, {}, [str(tmp_path / "shop")])
    [problem] = import_sessions(memory, chosen, only=None).problems
    assert problem.partition(": ")[2] == "larger than 64 MB (1)"


def test_an_export_is_left_out_where_its_client_has_the_session(
    memory: AssistantMemory, home: Path, shop: Path, claude: Write
) -> None:
    claude("0a1b2c3d", "Which port?", "8443", folder=str(shop))
    history = shop / ".specstory" / "history"
    history.mkdir(parents=True)
    for session in ("0a1b2c3d", "4e5f6a7b"):
        text = f"<!-- Claude Code Session {session} -->\n\n_**User**_\n\nWhich port?\n"
        (history / f"{session}.md").write_text(text)
    report = import_sessions(memory, readers(home, {}, [str(shop)]), only=None)
    assert report.sessions["specstory"] == 1


def test_files_are_the_users_alone(memory: AssistantMemory, home: Path) -> None:
    run(memory, home)
    modes = {oct(file.stat().st_mode & 0o777) for file in memory.folder.iterdir()}
    assert modes == {"0o600"}
    assert memory.folder.stat().st_mode & 0o777 == 0o700


@in_either
def test_old_sessions_can_be_left_out(memory: AssistantMemory, home: Path, claude: Write) -> None:
    os.utime(claude("a", "An old question"), (0, 0))
    run(memory, home, since=datetime(2020, 1, 1, tzinfo=UTC))
    assert "An old question" not in contents(memory)


@in_either
def test_forgetting_is_finished_later(memory: AssistantMemory, home: Path, claude: Write) -> None:
    claude("gone", "the zanzibar migration")
    run(memory, home)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(AssistantMemory, "_delete", lambda *_: sys.exit(9))
        with memory.stores(memory.projects()) as opened:
            found = [(project, store.kept()) for project, store in opened]
        with pytest.raises(SystemExit):
            memory.forget(found)
    run(memory, home)
    assert contents(memory) == []


def git(folder: Path, *words: str) -> str:
    identity = ("-c", "user.name=x", "-c", "user.email=x@x.org")
    command = ["git", "-C", str(folder), *identity, *words]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout.strip()


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    """A repository with a commit and an origin."""
    main = tmp_path / "shop"
    main.mkdir()
    git(main, "init", "-q")
    git(main, "commit", "--allow-empty", "-q", "-m", "x")
    git(main, "remote", "add", "origin", "git@github.com:me/shop.git")
    return main


def cloned(repository: Path, *words: str, origin: str = "https://x:y@GitHub.com/me/shop") -> Path:
    """A clone with its objects in a pack, or as ``words`` say."""
    clone = repository.with_name(f"clone{len(list(repository.parent.iterdir()))}")
    git(repository.parent, "clone", "-q", *(words or ("--no-local",)), str(repository), str(clone))
    git(clone, "remote", "set-url", "origin", origin)
    return clone


@in_either
def test_worktrees_and_clones_are_one_project(memory: AssistantMemory, repository: Path) -> None:
    (repository / "src").mkdir()
    first = memory.project_of(str(repository / "src"), make=True)
    assert first is not None
    assert first.name == "shop"
    tree = repository.with_name("tree")
    git(repository, "worktree", "add", "-q", str(tree))
    assert memory.project_of(str(tree)) == first
    assert memory.project_of(str(cloned(repository))) == first
    assert memory.project_of(str(cloned(repository, "--local"))) == first  # hard links
    fork = cloned(repository, origin="git@github.com:you/shop.git")
    assert memory.project_of(str(fork)) is None
    moved = repository.rename(repository.with_name("moved"))
    assert memory.project_of(str(moved)) == first


def test_a_repository_without_a_remote_is_itself_after_a_move_and_a_copy_is_another(
    memory: AssistantMemory, repository: Path, tmp_path: Path
) -> None:
    git(repository, "remote", "remove", "origin")
    first = memory.project_of(str(repository), make=True)
    copy = shutil.copytree(repository, tmp_path / "copy")
    assert memory.project_of(str(copy)) is None
    shutil.rmtree(repository)
    assert memory.project_of(str(copy)) == first


FORGED = {
    "by its remote alone": "true",
    "borrowed": "mkdir -p objects/info; echo $main/objects > objects/info/alternates",
    "led elsewhere": "echo $main > commondir",
    "linked objects": "rm -r objects; ln -s $main/objects objects",
    "linked folder": "rm -rf objects/${first:0:2}; ln -s $main/objects/${first:0:2} objects/",
    "linked pack": "git -C $main repack -adq; ln -s $main/objects/pack/* objects/pack/",
    "another object": "mkdir -p objects/${first:0:2}; "
    "cp objects/${own:0:2}/${own:2} objects/${first:0:2}/${first:2}",
    "replaced object": "mkdir refs/replace; echo $own > refs/replace/$first",
}
"""What a folder that was unpacked has in its `.git` to pass for a clone."""


@pytest.mark.parametrize("way", FORGED)
def test_no_folder_passes_for_a_clone(memory: AssistantMemory, repository: Path, way: str) -> None:
    memory.project_of(str(repository), make=True)
    unpacked = repository.with_name("unpacked")
    unpacked.mkdir()
    git(unpacked, "init", "-q")
    git(unpacked, "commit", "--allow-empty", "-q", "-m", "y")
    git(unpacked, "remote", "add", "origin", "https://github.com/me/shop")
    commits = {
        "first": git(repository, "rev-parse", "HEAD"),
        "own": git(unpacked, "rev-parse", "HEAD"),
    }
    subprocess.run(
        ["bash", "-ec", FORGED[way]], cwd=unpacked / ".git", check=True,
        env=os.environ | commits | {"main": f"{repository}/.git"},
    )  # fmt: skip
    assert memory.project_of(str(unpacked)) is None


def test_a_forged_clone_that_came_first_is_apart(memory: AssistantMemory, repository: Path) -> None:
    git(repository, "commit", "--allow-empty", "-q", "-m", "y")
    early = cloned(repository)
    git(early, "checkout", "-q", "--orphan", "other")
    git(early, "commit", "--allow-empty", "-q", "-m", "z")
    forged = memory.project_of(str(early), make=True)
    assert memory.project_of(str(repository), make=True) != forged


def test_a_folder_cannot_pass_for_a_worktree_of_another_repository(tmp_path: Path) -> None:
    (tmp_path / "shop" / ".git" / "worktrees" / "x").mkdir(parents=True)
    hostile = tmp_path / "hostile"
    hostile.mkdir()
    (hostile / ".git").write_text(f"gitdir: {tmp_path}/shop/.git/worktrees/x\n")
    assert place_name(str(hostile)) != place_name(str(tmp_path / "shop"))


def test_clients_keep_their_sessions_where_their_variables_say(
    home: Path, tmp_path: Path, clients: Mapping[str, Reader]
) -> None:
    (home / ".claude").rename(tmp_path / "elsewhere")
    assert not list(clients["claude"].sources())
    moved = readers(home, {"CLAUDE_CONFIG_DIR": str(tmp_path / "elsewhere")})
    assert len(list(moved["claude"].sources())) == 1


FILES = {
    "claude": ".claude/projects/*/*.jsonl",
    "codex": ".codex/sessions/*/*/*/*.jsonl",
    "copilot": ".copilot/session-state/*/events.jsonl",
    "gemini": ".gemini/tmp/*/chats/*.jsonl",
    "opencode": ".local/share/opencode/opencode.db",
    "cursor": ".config/Cursor/User/globalStorage/state.vscdb",
}


@pytest.fixture
def every(home: Path) -> Path:
    """The same home with a session of Cursor, too."""
    bubbles = [
        {"bubbleId": f"b{number}", "type": 1 + number % 2, "text": f"Message {number} of Cursor"}
        for number in range(6)
    ]
    cursor_database(home, {"data": {"lastUpdatedAt": 1767225700000}, "bubbles": bubbles})
    return home


def imported(memory: AssistantMemory, home: Path, client: str) -> tuple[list[str], list[str]]:
    report = import_sessions(memory, {client: readers(home, {})[client]}, only=None)
    return contents(memory), report.problems


@pytest.mark.parametrize("client", ["claude", "codex", "copilot", "gemini"])
def test_a_session_that_is_cut_anywhere_is_whole_once_its_file_is(
    memory: AssistantMemory, every: Path, client: str, tmp_path: Path
) -> None:
    [path] = every.glob(FILES[client])
    whole = path.read_bytes()
    expected, _ = imported(AssistantMemory(tmp_path / "other"), every, client)
    assert expected
    for cut in range(len(whole) // 9, len(whole), len(whole) // 9):
        path.write_bytes(whole[:cut])
        seen, problems = imported(memory, every, client)
        assert "\n".join(seen) in "\n".join(expected).replace("\n\n", "\n")
        assert problems == []
    path.write_bytes(whole)
    seen, problems = imported(memory, every, client)  # a reply that came in parts is several
    assert "\n".join(seen) == "\n".join(expected).replace("\n\n", "\n")
    assert problems == []


@pytest.mark.parametrize("client", ["opencode", "cursor"])
def test_a_database_that_grows_is_read_on(
    memory: AssistantMemory, every: Path, client: str, tmp_path: Path
) -> None:
    [path] = every.glob(FILES[client])
    expected, _ = imported(AssistantMemory(tmp_path / "other"), every, client)
    later: tuple[str, ...] = (
        "CREATE TABLE later AS SELECT * FROM message WHERE time_created > (SELECT min(time_created)"
        " FROM message)",
        "DELETE FROM message WHERE id IN (SELECT id FROM later)",
    )
    back = "INSERT INTO message SELECT * FROM later"
    if client == "cursor":
        key, table = "composerData:c1", "cursorDiskKV"
        heads = '[{"bubbleId": "b0", "type": 1}]'
        short = f"json_set(value, '$.fullConversationHeadersOnly', json('{heads}'))"
        later = (
            f"CREATE TABLE later AS SELECT value FROM {table} WHERE key = '{key}'",
            f"UPDATE {table} SET value = {short} WHERE key = '{key}'",
        )
        back = f"UPDATE {table} SET value = (SELECT value FROM later) WHERE key = '{key}'"
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("PRAGMA foreign_keys = OFF")
        for step in later:
            connection.execute(step)
        connection.commit()
        seen, _ = imported(memory, every, client)
        assert 0 < len(seen) < len(expected)
        connection.execute(back)
        connection.commit()
    assert imported(memory, every, client) == (expected, [])


@pytest.mark.parametrize("client", FILES)
def test_damage_is_named_and_skipped(memory: AssistantMemory, every: Path, client: str) -> None:
    [path] = every.glob(FILES[client])
    if path.suffix == ".jsonl":
        lines = path.read_bytes().splitlines(keepends=True)
        path.write_bytes(b"".join(part for line in lines for part in (line, b"\xff" + line)))
        expected = "a line that is not JSON"
    else:
        whole = path.read_bytes()
        path.write_bytes(whole[: len(whole) // 2] + os.urandom(len(whole) // 2))
        expected = client
    seen, problems = imported(memory, every, client)
    assert expected in "".join(problems)
    assert len(seen) >= 4 or path.suffix != ".jsonl"
    report = import_sessions(memory, readers(every, {}), only=None)
    assert set(report.sessions) >= {"claude", "codex", "copilot", "gemini"} - {client}


def test_an_import_that_had_no_time_left_for_vectors_is_gone_on_with_by_the_next(
    shop: Path, kds_call: Callable[..., Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as patch:
        patch.setattr(importing, "EMBED_S", -1.0)
        first = json.loads(kds_call("memory", "import", "--json").out)
    again = json.loads(kds_call("memory", "import", "--json").out)
    assert first["waiting_for_vectors"] > 0
    assert (again["messages"], again["waiting_for_vectors"]) == ({}, 0)
    with closing(AssistantMemory()) as memory, memory.stores(memory.projects()) as opened:
        assert [[one.waiting for one in store.models()] for _, store in opened] == [[0]]
