"""Runs the command line for tests: in this process, or as a process of its own."""

import io
import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from kds.brain.memory.memory_store import MemoryPlace
from kds.brain.workspace import Workspace
from kds.cli import main
from kds.service import lifecycle

from ..agents.openai_server import FakeProvider, serving
from ..effort import PATIENCE_S

KDS = (sys.executable, "-c", "from kds.cli import main; main()")
"""What the installed script does, wherever it was installed to."""


@dataclass(frozen=True)
class Result:
    """What a run of `kds` left: its exit code and its two streams."""

    code: int
    out: str
    err: str


Run = Callable[..., Result]
BAD_INPUT = 2
FAB = "I want to add a FAB button"


def data(result: Result, code: int = 0) -> Any:
    """What a run printed as JSON; its exit code has to be this one."""
    assert result.code == code, result.err
    return json.loads(result.out)


def refused(result: Result, message: str, fix: str | None = None) -> None:
    """That a run refused what it was given: in one line and, with ``fix``, how to mend it below."""
    assert (result.code, result.out) == (BAD_INPUT, "")
    head, _, hint = result.err.partition("\n")
    assert head.startswith("kds: ")
    assert message in (result.err if fix is None else head)
    if fix is not None:
        assert hint.startswith("  fix: ")
        assert fix in hint


def jsonl(name: str, rows: Sequence[Mapping[str, Any]]) -> str:
    """Write a file of examples, one a line; its name."""
    Path(name).write_text("".join(json.dumps(row) + "\n" for row in rows))
    return name


def begin_session(workspace: Path, title: str) -> str:
    """Begin a session in the memory of a workspace; its id."""
    with MemoryPlace.of(Workspace.find(workspace)).open() as store:
        return store.create_session(title=title).id


def said_in(workspace: Path) -> list[str]:
    """The messages in the conversation context of a workspace."""
    path = workspace / "kds-brain" / "conversation-context.jsonl"
    lines = path.read_text().splitlines() if path.exists() else []
    return [json.loads(line)["user_message"] for line in lines]


def holding(folder: Path, text: str) -> list[str]:
    """The files below a folder, but for backups, that have a text in them or in their names."""
    names = {str(one.relative_to(folder)): one for one in folder.rglob("*") if one.is_file()}
    return [
        name
        for name, path in names.items()
        if "backups" not in path.parts and (text in name or text.encode() in path.read_bytes())
    ]


@pytest.fixture
def place(fitted_workspace: Path) -> Workspace:
    """The fresh workspace with a fitted model, as KDS finds it."""
    return Workspace.find(fitted_workspace)


@pytest.fixture
def kds_call(capsys: pytest.CaptureFixture[str]) -> Callable[..., Result]:
    """Run `kds` in this process: ``kds_call("route", "Make it purple")``."""

    def call(*arguments: str) -> Result:
        with pytest.raises(SystemExit) as stop:
            main(arguments)
        streams = capsys.readouterr()
        return Result(int(stop.value.code or 0), streams.out, streams.err)

    return call


@pytest.fixture
def kds_spawn(workspace: Path, launchers: Path) -> Callable[..., Result]:
    """Run `kds` as a process in a fresh workspace; arguments may be bytes, as from a shell.

    The process is forked from one that has everything loaded.
    """

    def spawn(*arguments: str | bytes, stdin: bytes = b"", **environ: str) -> Result:
        done = subprocess.run(
            [str(launchers / "kds"), *arguments], cwd=workspace, input=stdin,
            capture_output=True, timeout=300,
            env={**os.environ, **environ},
        )  # fmt: skip
        return Result(done.returncode, done.stdout.decode(), done.stderr.decode())

    return spawn


@pytest.fixture
def served_place(
    fitted_workspace: Path, launchers: Path, monkeypatch: pytest.MonkeyPatch
) -> Iterator[Workspace]:
    """A fresh workspace; its service, when a test starts one, is forked as well, and is ended."""
    monkeypatch.setattr(lifecycle, "COMMAND", (str(launchers / "kds"),))
    yield Workspace.find(fitted_workspace)
    lifecycle.stop(force=True)


@pytest.fixture
def embeddings(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """A model of the user's own: counts letters; it fails while a file named `down` is there."""
    down = tmp_path / "down"
    (tmp_path / "letter_models.py").write_text(
        f"""
from pathlib import Path

class Letters:
    def embed_query(self, text):
        if Path({str(down)!r}).exists():
            raise ConnectionError("the model is down")
        return [text.lower().count(letter) + 0.1 for letter in "abcdefghijklmnopqrstuvwxyz"]

    def embed_documents(self, texts):
        return [self.embed_query(text) for text in texts]
"""
    )
    monkeypatch.syspath_prepend(str(tmp_path))
    yield "letter_models:Letters"
    sys.modules.pop("letter_models", None)


@pytest.fixture
def provider(monkeypatch: pytest.MonkeyPatch) -> Iterator[FakeProvider]:
    """A provider that the environment names as the user's model."""
    with serving() as fake:
        monkeypatch.setenv("KDS_MODEL", f"{fake.url}#fake")
        monkeypatch.setenv("KDS_MODEL_RETRIES", "0")
        for wait in ("KDS_MODEL_TIMEOUT_S", "KDS_REWRITING_TIMEOUT_S"):
            monkeypatch.setenv(wait, str(PATIENCE_S))
        yield fake


@pytest.fixture
def model(provider: FakeProvider, monkeypatch: pytest.MonkeyPatch) -> FakeProvider:
    """The provider, asked by agents alone: messages are rewritten by rules."""
    monkeypatch.setenv("KDS_REWRITING", "rules-only")
    return provider


class Keyboard(io.StringIO):
    """Someone at a terminal who types this."""

    def isatty(self) -> bool:
        return True


@pytest.fixture
def typed(monkeypatch: pytest.MonkeyPatch) -> Callable[[str], None]:
    """Put someone at the terminal: ``typed("yes\\n")``."""
    return lambda keys: monkeypatch.setattr(sys, "stdin", Keyboard(keys))
