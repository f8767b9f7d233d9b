"""Sessions over a fake provider, with the real client between the two."""

from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import pytest

import kds
from kds.api.workspace_parts import Parts

Open = Callable[..., kds.Session]


@pytest.fixture(scope="session")
def shipped(fitted_brain: Path) -> Parts:
    """What every session of these tests loads, loaded once: it takes a quarter of a second."""
    workspace = kds.Workspace(fitted_brain.parent, fitted_brain)
    return Parts.load(workspace, may_write=False)


@pytest.fixture(autouse=True)
def _loaded_once(shipped: Parts, monkeypatch: pytest.MonkeyPatch) -> None:
    load = Parts.load

    def quick(workspace: kds.Workspace, *, may_write: bool) -> Parts:
        if workspace.prompts_dir.exists():
            return load(workspace, may_write=may_write)
        return replace(shipped, workspace=workspace)

    monkeypatch.setattr(Parts, "load", quick)


@pytest.fixture
def open_session(fitted_workspace: Path) -> Iterator[Open]:
    """Open a session in the fresh workspace; it is closed after the test."""
    opened: list[kds.Session] = []

    def open_it(**options: object) -> kds.Session:
        opened.append(kds.Session.open(fitted_workspace, **options))  # type: ignore[arg-type]  # a fixture hands on
        return opened[-1]

    yield open_it
    for session in opened:
        session.close()
