"""Prompts, rules and settings that change under a running service: used if they load, else not."""

import shutil
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from kds.api.conversations import Conversations
from kds.brain.workspace import Workspace
from kds.query.values import Query
from kds.service.workspaces import ServedWorkspace

from .conftest import running, wait_until

PROMPT = """---
name: tea-maker
description: Makes tea.
intent: TEA
patterns:
  - regex: '\\b(?:brew|make)\\b.*\\btea\\b'
    weight: 0.9
examples: [brew a pot of tea, make some green tea, please make tea for all of us]
inputs: [message]
---
Make the tea: {{ message }}
"""


@pytest.fixture(scope="module")
def place(new_workspace: Callable[[], Path]) -> Path:
    return new_workspace()


@pytest.fixture(scope="module")
def loaded(place: Path) -> Conversations:
    return Conversations.open(Workspace(place, place / "kds-brain"))


@pytest.fixture
def log() -> list[str]:
    return []


@pytest.fixture
def served(place: Path, loaded: Conversations, log: list[str]) -> Iterator[ServedWorkspace]:
    yield ServedWorkspace(loaded, log=log.append)
    shutil.rmtree(place / "prompts", ignore_errors=True)


def write(place: Path, text: str) -> Path:
    path = place / "prompts" / "internal" / "tea-maker.md"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    return path


def intents(served: ServedWorkspace) -> set[str | None]:
    return {agent.intent for agent in served.conversations.library.agents()}


def test_what_loads_is_used_and_what_does_not_is_told_until_it_is_mended(
    place: Path, served: ServedWorkspace, log: list[str]
) -> None:
    before = served.conversations
    served.route("I want to add a FAB button", conversation=None)
    served.look()
    assert served.conversations is before
    path = write(place, PROMPT.replace("weight: 0.9", "weight: 9"))
    served.look()
    served.look()
    assert served.conversations is before
    assert (served.reload.count, len(log)) == (0, 1)
    assert f"{path}:7" in str(served.reload.error)
    assert str(path) in served.warnings[-1]
    path.write_text(PROMPT)
    served.look()
    assert "TEA" in intents(served)
    assert (served.reload.error, served.warnings, served.reload.count) == (None, (), 1)
    path.unlink()
    served.look()
    assert "TEA" not in intents(served)
    assert log[1:] == [f"reloaded prompts and rules of {place}"] * 2


@pytest.mark.parametrize("whose", ["project", "own"])
def test_a_service_sees_folders_come_and_go_and_settings_break_and_mend(
    new_workspace: Callable[[], Path],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    whose: str,
) -> None:
    monkeypatch.setattr("kds.service.server.RELOAD_LOOK_S", 0.02)
    monkeypatch.setenv("KDS_CONFIG", str(tmp_path / "own.yaml"))
    folder = new_workspace()
    with running(folder) as service, service.client() as client:
        (one,) = service.service._workspaces
        for _ in range(2):
            write(folder, PROMPT)
            wait_until(lambda: "TEA" in intents(one))
            shutil.rmtree(folder / "prompts")
            wait_until(lambda: "TEA" not in intents(one))
        path = one.workspace.settings_path if whose == "project" else tmp_path / "own.yaml"
        path.write_text("rewriting:\n  mode: model-frist\n")
        health = client.get("/healthz").json()
        assert health["status"] == "degraded"
        assert "did you mean 'model-first'?" in health["workspaces"][0]["settings_error"]
        assert f"{path}:2" in health["workspaces"][0]["settings_error"]
        assert f"{path}:2" in health["workspaces"][0]["warnings"][-1]
        asked = Query("What is it?", answer=False)
        assert f"{path}:2" in one.queries.ask(asked).warnings[0]
        path.write_text("rewriting: {mode: model-first}\n")
        assert client.get("/healthz").json()["status"] == "ok"
        assert one.queries.ask(asked).warnings == ()
