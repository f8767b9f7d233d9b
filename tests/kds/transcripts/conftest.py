"""Sessions that the real clients wrote with a scripted model, and a home to read them from.

`recorded/` was written by Claude Code 2.1.331, Codex 0.169.0, Copilot CLI 1.0.102, Gemini CLI
0.61.0 and opencode 1.18.33 (its database as SQL); long strings were cut. Cursor and SpecStory could
not be run: what stands for them here is written in the form of files that they wrote.
"""

import json
import os
import shutil
import sqlite3
import subprocess
import sysconfig
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from kds.brain.workspace import SharedDatabase, Workspace
from kds.service import lifecycle
from kds.transcripts.catalogue import AssistantMemory, ProjectStore
from kds.transcripts.formats import Reader
from kds.transcripts.importing import readers

HOOK = Path(sysconfig.get_path("scripts")) / "kds-hook"
RECORDED = Path(__file__).parent / "recorded"

Write = Callable[..., Path]


@pytest.fixture
def home(tmp_path: Path) -> Path:
    """A home with a session of each of the clients that were recorded."""
    made = tmp_path / "home"
    for client in ("claude", "codex", "copilot", "gemini"):
        shutil.copytree(RECORDED / client, made / f".{client}")
    data = made / ".local" / "share" / "opencode"
    data.mkdir(parents=True)
    with closing(sqlite3.connect(data / "opencode.db")) as connection:
        connection.executescript((RECORDED / "opencode.sql").read_text())
    return made


@pytest.fixture
def clients(home: Path) -> dict[str, Reader]:
    """The readers of that home."""
    return readers(home, {})


@pytest.fixture
def on_server(either_engine: str, home: Path, monkeypatch: pytest.MonkeyPatch) -> bool:
    """Has the test run twice; the second time the user has sessions kept on a server."""
    if either_engine == "server":
        own = home / ".config" / "kds" / "settings.yaml"
        own.parent.mkdir(parents=True)
        own.write_text("assistants:\n  in_database: true\n")
    return either_engine == "server"


@pytest.fixture
def memory(tmp_path: Path, request: pytest.FixtureRequest) -> Iterator[AssistantMemory]:
    """An empty memory of assistants: in files, and where the test asks for it, on a server."""
    shared = None
    if "on_server" in request.fixturenames and request.getfixturevalue("on_server"):
        names = ("default", os.environ["KDS_DATABASE_PERSON"], "assistants")
        shared = SharedDatabase(os.environ["KDS_DATABASE"], names)
    with closing(AssistantMemory(tmp_path / "own" / "assistants", shared)) as made:
        yield made


@pytest.fixture
def claude(home: Path) -> Write:
    """Write a session of Claude Code from texts: the user's, the assistant's, in turn."""

    def write(session: str, *texts: str, folder: str = "/home/me/shop", ending: str = "\n") -> Path:
        path = home / ".claude" / "projects" / "-x" / f"{session}.jsonl"
        path.parent.mkdir(exist_ok=True)
        lines = [
            json.dumps(claude_line(session, number, text, folder))
            for number, text in enumerate(texts)
        ]
        path.write_text("\n".join(lines) + ending)
        return path

    return write


@pytest.fixture
def shop(home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The repository that the recorded sessions are about, as the current folder."""
    folder = tmp_path / "shop"
    folder.mkdir()
    subprocess.run(["git", "init", "-q", str(folder)], check=True)
    for path in home.rglob("*"):
        if path.is_file() and path.suffix in (".jsonl", ".project_root"):
            path.write_text(path.read_text().replace("/home/me/shop", str(folder)))
    (home / ".gemini" / "tmp" / "shop" / ".project_root").write_text(str(folder))
    monkeypatch.setenv("HOME", str(home))
    monkeypatch.setenv("KDS_SERVICE", "0")
    monkeypatch.delenv("XDG_CONFIG_HOME", raising=False)
    monkeypatch.delenv("XDG_DATA_HOME", raising=False)
    monkeypatch.chdir(folder)
    return folder


@pytest.fixture
def service(
    shop: Path, fitted_brain: Path, launchers: Path, monkeypatch: pytest.MonkeyPatch
) -> Iterator[Callable[[], int]]:
    """Have a service of the shop's user running; its process number."""
    shutil.copytree(fitted_brain, shop / "kds-brain")
    monkeypatch.delenv("KDS_SERVICE")
    monkeypatch.setattr(lifecycle, "COMMAND", (str(launchers / "kds"),))
    workspace = Workspace.find(shop)

    def running() -> int:
        return int(lifecycle.start(workspace, idle_minutes=5)["pid"])

    yield running
    lifecycle.stop(force=True)


def hooked(given: dict[str, str]) -> dict[str, Any]:
    """What the hook prints when a client hands it this."""
    done = subprocess.run(
        [HOOK], input=json.dumps(given), capture_output=True, text=True, check=True,
        env=os.environ | {"KDS_HOOK_TIMEOUT_MS": "20000"},
    )  # fmt: skip
    return dict(json.loads(done.stdout or "{}"))


def claude_line(session: str, number: int, text: str, folder: str) -> dict[str, Any]:
    """A message as Claude Code writes it."""
    role = "assistant" if number % 2 else "user"
    return {
        "type": role,
        "message": {"role": role, "content": [{"type": "text", "text": text}]},
        "uuid": f"{session}-{number}",
        "timestamp": f"2026-11-02T10:{number % 60:02}:00Z",
        "cwd": folder,
        "gitBranch": "main",
    }


def contents(memory: AssistantMemory) -> list[str]:
    """Every message that is kept, session by session."""
    with memory.stores(memory.projects()) as opened:
        return [text for _, store in opened for text in texts_of(store)]


def texts_of(store: ProjectStore) -> list[str]:
    sessions = sorted(one.session.id for one in store.kept())
    return [one.content for name in sessions for one in store.messages(name)]
