"""Prompts and rules that change under a running service: used when they load, else not."""

import shutil
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from kds.api.conversations import Conversations
from kds.brain.workspace import Workspace
from kds.query.values import Query
from kds.service import jobs
from kds.service.fingerprint import fingerprint
from kds.service.jobs import Reloader
from kds.service.telemetry import Vitals
from kds.service.workspaces import ServedWorkspace

from .conftest import wait_until

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

RULE = """rules:
  - id: own.widget
    signal: {kind: pattern, cues: ['\\bthe widget thing\\b']}
    render: {text: the FAB button}
    tests:
      - {in: Paint the widget thing, out: Paint the FAB button}
      - {in: Paint the door, out: unchanged}
"""


@pytest.fixture(scope="module")
def place(new_workspace: Callable[[], Path]) -> Path:
    return new_workspace()


@pytest.fixture(scope="module")
def loaded(place: Path) -> Conversations:
    return Conversations.open(Workspace(place, place / "kds-brain"))


@pytest.fixture
def served(place: Path, loaded: Conversations) -> Iterator[ServedWorkspace]:
    yield ServedWorkspace(loaded)
    shutil.rmtree(place / "prompts", ignore_errors=True)
    shutil.rmtree(place / "kds-brain" / "rules", ignore_errors=True)


@pytest.fixture
def log() -> list[str]:
    return []


@pytest.fixture
def reloader(served: ServedWorkspace, log: list[str]) -> Reloader:
    return Reloader(served, log.append)


def write(place: Path, text: str) -> Path:
    folder = place / "prompts" / "internal"
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / "tea-maker.md"
    path.write_text(text)
    return path


def intents(served: ServedWorkspace) -> set[str | None]:
    return {agent.intent for agent in served.conversations.library.agents()}


def test_nothing_is_read_anew_while_nothing_changes(
    served: ServedWorkspace, reloader: Reloader, log: list[str]
) -> None:
    before = served.conversations
    reloader.check()
    served.route("I want to add a FAB button", conversation=None)
    (served.workspace.brain / "settings.yaml").touch()
    reloader.check()
    assert served.conversations is before
    assert served.reload.count == 0
    assert log == []


def test_a_new_prompt_is_used(
    place: Path, served: ServedWorkspace, reloader: Reloader, log: list[str]
) -> None:
    path = write(place, PROMPT)
    reloader.check()
    assert "TEA" in intents(served)
    assert served.reload.count == 1
    path.unlink()
    reloader.check()
    assert "TEA" not in intents(served)
    assert log == [f"reloaded prompts and rules of {place}"] * 2


def test_a_broken_set_changes_nothing_and_says_so_until_it_is_mended(
    place: Path, served: ServedWorkspace, reloader: Reloader, log: list[str]
) -> None:
    before = served.conversations
    path = write(place, PROMPT.replace("weight: 0.9", "weight: 9"))
    reloader.check()
    reloader.check()
    assert served.conversations is before
    assert served.reload.count == 0
    assert served.reload.at is not None
    assert served.reload.error is not None
    assert f"{path}:7" in served.reload.error
    assert len(log) == 1
    assert str(path) in served.warnings[-1]
    path.write_text(PROMPT)
    reloader.check()
    assert served.reload.error is None
    assert served.warnings == ()
    assert "TEA" in intents(served)


def test_a_file_that_is_being_written_is_left_alone_until_it_is_whole(
    place: Path, served: ServedWorkspace, reloader: Reloader, log: list[str]
) -> None:
    reloader.look()
    for half in (PROMPT[:20], PROMPT[:60], PROMPT):
        write(place, half)
        reloader.look()
    assert log == []
    reloader.look()
    assert "TEA" in intents(served)


def test_a_fault_in_reading_is_not_an_end_of_the_service(
    place: Path,
    served: ServedWorkspace,
    reloader: Reloader,
    log: list[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def fail(_: Conversations) -> Conversations:
        raise RuntimeError("a fault")

    monkeypatch.setattr(Conversations, "reloaded", fail)
    write(place, PROMPT)
    reloader.check()
    assert served.reload.error is not None
    assert served.reload.error.startswith("internal error: RuntimeError at ")
    assert len(log) == 1


def test_one_reads_at_a_time_so_that_nothing_older_replaces_what_is_newer(
    place: Path, served: ServedWorkspace, reloader: Reloader, monkeypatch: pytest.MonkeyPatch
) -> None:
    reading, most = [0], [0]
    whole, installed = Conversations.reloaded, ServedWorkspace.reloaded

    def read(conversations: Conversations) -> Conversations:
        reading[0] += 1
        most[0] = max(most[0], reading[0])
        return whole(conversations)

    def use(one: ServedWorkspace, conversations: Conversations) -> None:
        installed(one, conversations)
        reading[0] -= 1

    monkeypatch.setattr(Conversations, "reloaded", read)
    monkeypatch.setattr(ServedWorkspace, "reloaded", use)
    write(place, PROMPT)
    looking = threading.Thread(target=reloader.check)
    saving = [threading.Thread(target=served.read_anew) for _ in range(6)]  # as the page does
    for thread in (looking, *saving):
        thread.start()
    for thread in (looking, *saving):
        thread.join()
    assert (reading, most) == ([0], [1])


def test_an_edit_of_the_same_size_is_seen(place: Path, served: ServedWorkspace) -> None:
    path = write(place, PROMPT)
    before = fingerprint(served.workspace)
    path.with_suffix(".tmp").write_text(PROMPT.replace("Makes tea", "Pours tea"))
    assert fingerprint(served.workspace) == before
    path.with_suffix(".tmp").replace(path)
    assert fingerprint(served.workspace) != before


def test_words_of_the_workspace_count_as_its_rules_do(tmp_path: Path) -> None:
    workspace = Workspace(tmp_path, tmp_path / "kds-brain")
    workspace.english_dir.mkdir(parents=True)
    before = fingerprint(workspace)
    (workspace.english_dir / "people.yaml").write_text("nouns: bosun\n")
    assert fingerprint(workspace) != before


@pytest.fixture
def watching(reloader: Reloader, monkeypatch: pytest.MonkeyPatch) -> Iterator[Reloader]:
    monkeypatch.setattr(jobs, "RELOAD_LOOK_S", 0.02)
    reloader.start()
    yield reloader
    reloader.stop()


def test_folders_made_and_removed_while_it_watches_are_noticed(
    place: Path, served: ServedWorkspace, watching: Reloader
) -> None:
    write(place, PROMPT)
    wait_until(lambda: "TEA" in intents(served))
    shutil.rmtree(place / "prompts")
    wait_until(lambda: "TEA" not in intents(served))
    write(place, PROMPT)
    wait_until(lambda: "TEA" in intents(served))
    rules = place / "kds-brain" / "rules"
    rules.mkdir()
    (rules / "own.yaml").write_text(RULE)
    wait_until(
        lambda: (
            served.route("Paint the widget thing", conversation=None, log=False).expanded
            == "Paint the FAB button"
        )
    )
    (rules / "own.yaml").write_text("rules: [{id: x}]\n")
    assert wait_until(lambda: served.reload.error).startswith(str(rules / "own.yaml"))


@pytest.mark.parametrize("whose", ["project", "own"])
def test_broken_settings_are_told_until_they_are_mended(
    served: ServedWorkspace,
    reloader: Reloader,
    log: list[str],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    whose: str,
) -> None:
    monkeypatch.setenv("KDS_CONFIG", str(tmp_path / "own.yaml"))
    project = served.workspace.settings_path
    path = project if whose == "project" else tmp_path / "own.yaml"
    path.write_text("rewriting: {mode: rules-first}\n")
    reloader.check()
    assert not served.degraded
    path.write_text("rewriting:\n  mode: model-frist\n")
    reloader.check()
    reloader.check()
    (line,) = log
    assert f"{path}:2" in line
    assert "did you mean 'model-first'?" in line
    health = Vitals().report([served]).model_dump()
    assert health["status"] == "degraded"
    assert f"{path}:2" in health["workspaces"][0]["settings_error"]
    assert f"{path}:2" in health["workspaces"][0]["warnings"][-1]
    reply = served.queries.ask(Query("What is it?", answer=False))
    assert f"{path}:2" in reply.warnings[0]
    path.write_text("rewriting: {mode: model-first}\n")
    reloader.check()
    assert Vitals().report([served]).status == "ok"
    assert len(log) == 2
    assert served.queries.ask(Query("What is it?", answer=False)).warnings == ()
    path.unlink()
