"""Sessions over a fake provider, with the real client between the two."""

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import pytest

import kds
from kds.api.parts import Parts
from kds.brain.memory.memory_store import SqliteStore
from kds.brain.passages.values import Message

from ...agents.openai_server import FakeProvider
from ..conftest import said_in


@pytest.fixture(scope="session")
def shipped(fitted_brain: Path) -> Parts:
    """What every session of these tests loads, loaded once: it takes a quarter of a second."""
    workspace = kds.Workspace(fitted_brain.parent, fitted_brain)
    return Parts.load(workspace)


@pytest.fixture(autouse=True)
def _loaded_once(shipped: Parts, monkeypatch: pytest.MonkeyPatch) -> None:
    load = Parts.load

    def quick(workspace: kds.Workspace) -> Parts:
        if workspace.prompts_dir.exists():
            return load(workspace)
        return replace(shipped, workspace=workspace)

    monkeypatch.setattr(Parts, "load", quick)


@dataclass(frozen=True)
class Chat:
    """A workspace, and the sessions in it; they are closed after the test."""

    folder: Path
    model: FakeProvider
    opened: list[kds.Session] = field(default_factory=list)

    def open(self, **options: Any) -> kds.Session:
        """Open a session."""
        self.opened.append(kds.Session.open(self.folder, **options))
        return self.opened[-1]

    def remembered(self) -> list[Message]:
        """Every message of the memory, in order; none when there is no file."""
        path = self.folder / "kds-brain" / "memory.db"
        if not path.exists():
            return []
        with SqliteStore(path) as store:
            return [message for one in store.sessions() for message in store.messages(one.id)]

    def replies(self) -> list[tuple[str | None, str]]:
        """What agents have said, each with its name."""
        return [(one.speaker, one.content) for one in self.remembered() if one.role == "assistant"]

    def said(self) -> list[str]:
        """The messages in the context."""
        return said_in(self.folder)


def whole(pieces: Iterator[str | kds.Answer]) -> kds.Answer:
    """The answer at the end of its pieces."""
    *_, answer = pieces
    assert isinstance(answer, kds.Answer)
    return answer


@pytest.fixture
def chat(model: FakeProvider, fitted_workspace: Path) -> Iterator[Chat]:
    """The fresh workspace, with a model."""
    found = Chat(fitted_workspace, model)
    yield found
    for session in found.opened:
        session.close()
