"""KDS in the real clients by its hook: what reaches the model, and how often."""

import json
import os
import re
import shutil
import subprocess
import time
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from kds.transcripts.catalogue import AssistantMemory

from ..effort import PATIENCE_S
from .clients import SHARING, Client, Opencode
from .conftest import KDS, Install, Run, await_service, logged_messages

FIRST, SECOND = "I want to add a FAB button", "Make it purple"
HINT = 'KDS: "it" probably means "the FAB button".'
RECORDED = Path(__file__).parents[1] / "kds" / "transcripts" / "recorded"
MARK = 'KDS: "'
"""How every line begins that the hook adds."""


@pytest.mark.usefixtures("service")
@pytest.mark.parametrize("carry_on", [True, False], ids=["same session", "new session"])
def test_a_hint_stays_within_its_session(client: Client, install: Install, carry_on: bool) -> None:
    for _ in range(2):  # a second time changes nothing
        install(client.name)
    client.ask(FIRST)
    client.ask(SECOND, carry_on=carry_on)
    first, second = client.model.turns
    assert MARK not in first.newest
    assert second.newest.count(HINT) == carry_on
    assert MARK not in second.newest.replace(HINT, "")
    assert logged_messages(client.project) == [FIRST, SECOND]


@pytest.mark.parametrize("client", SHARING, indirect=True)
@pytest.mark.usefixtures("service")
@pytest.mark.parametrize("in_venv", [False, True], ids=["on the PATH", "in a venv"])
@pytest.mark.parametrize(
    "order", [("claude", "copilot"), ("copilot", "claude"), ("claude", "vscode")], ids="-".join
)
def test_with_the_files_of_several_clients_one_hook_runs_per_message(
    client: Client, install: Install, order: Sequence[str], in_venv: bool
) -> None:
    for name in order:
        install(name, in_venv=in_venv)
    client.ask(FIRST)
    client.ask(SECOND, carry_on=True)
    assert [turn.newest.count(HINT) for turn in client.model.turns] == [0, 1]
    assert logged_messages(client.project) == [FIRST, SECOND]


def share_home(client: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    """Have KDS look where the client writes its sessions."""
    for name in ("HOME", "CLAUDE_CONFIG_DIR", "CODEX_HOME", "COPILOT_HOME"):
        if value := client.environ().get(name):
            monkeypatch.setenv(name, value)


def test_what_was_said_is_kept_once_when_the_turn_has_ended(
    client: Client, install: Install, run_kds: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    share_home(client, monkeypatch)
    run_kds("memory", "import")  # nothing yet, but from now on it is wanted
    run_kds("service", "start")
    install(client.name)
    client.ask("The vault of staging has port 8443")
    assert await_messages(1) == ["The vault of staging has port 8443", "ok"]
    client.ask("Make it 8444", carry_on=True)
    assert await_messages(3)[2:] == ["Make it 8444", "ok"]


def test_a_session_starts_with_where_the_last_one_stopped_in_another_client(
    client: Client, install: Install, run_kds: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    share_home(client, monkeypatch)
    other, place = (
        ("copilot", "COPILOT_HOME") if client.name == "codex" else ("codex", "CODEX_HOME")
    )
    folder = client.state / other
    shutil.copytree(RECORDED / other, folder, dirs_exist_ok=True)
    for path in folder.rglob("*.jsonl"):
        path.write_text(path.read_text().replace("/home/me/shop", str(client.project)))
    monkeypatch.setenv(place, str(folder))
    run_kds("memory", "import")
    run_kds("service", "start")
    install(client.name)
    client.ask("Good morning")
    assert f"KDS: the last session here on main ({other}, 2026-11-24)" in client.model.turns[0].text


def await_messages(count: int) -> list[str]:
    """Wait until more than ``count`` messages are in the memory of assistants; all of them."""
    ends = time.monotonic() + PATIENCE_S
    memory = AssistantMemory()
    while True:
        with memory.stores(memory.projects()) as opened:
            kept = [one.content for _, store in opened for session in store.kept()
                    for one in store.messages(session.session.id)]  # fmt: skip
        if len(kept) > count:
            return kept
        assert time.monotonic() < ends, kept
        time.sleep(0.1)


def test_without_a_service_the_prompt_goes_as_it_is(client: Client, install: Install) -> None:
    install(client.name)
    alone = replace(client, more={"KDS_SERVICE_AUTO": "0"})
    assert alone.ask(FIRST) == "ok"
    [turn] = client.model.turns
    assert FIRST in turn.text
    assert MARK not in turn.text
    assert logged_messages(client.project) == []


def test_a_colleague_without_kds_sees_nothing_of_the_hook(client: Client, install: Install) -> None:
    install(client.name)
    path = os.pathsep.join((str(client.npm), os.defpath.lstrip(":")))
    colleague = replace(client, more={"PATH": path})
    colleague.ask(FIRST)  # Gemini CLI names the hooks of a project when it meets them first
    told = colleague.errors(SECOND).splitlines()  # Codex names each hook, and that it is done
    assert [one for one in told if "hook" in one and re.search("fail|error|not found", one)] == []
    assert SECOND in client.model.turns[1].text


@pytest.mark.parametrize("client", SHARING, indirect=True)
def test_the_hook_starts_the_service(client: Client, install: Install) -> None:
    install(client.name)
    client.ask("Good morning")
    await_service(client.project)
    client.ask(FIRST)
    assert FIRST in logged_messages(client.project)


@pytest.mark.parametrize("client", SHARING, indirect=True)
@pytest.mark.usefixtures("service")
def test_a_slash_command_reaches_the_model_alone(client: Client, install: Install) -> None:
    install(client.name)
    client.ask(f"/kds {SECOND}")
    [turn] = client.model.turns
    assert SECOND in turn.text
    assert MARK not in turn.text
    assert logged_messages(client.project) == []


@pytest.mark.usefixtures("service")
def test_a_hint_is_found_in_the_session_of_the_client(client: Client, install: Install) -> None:
    install(client.name)
    client.ask(FIRST)
    client.ask(SECOND, carry_on=True)
    command = [str(KDS), "hook", "why", "--json", "--workspace", str(client.project)]
    done = subprocess.run(command, env=client.environ(), capture_output=True, check=True)
    calls = [one for one in json.loads(done.stdout)["calls"] if one["event"] == "prompt"]
    assert [one["what"].split()[0] for one in calls] == ["silent:", "said"]
    kept = [] if client.name == Opencode.name else [HINT]  # it keeps a database
    assert [one["told"] for one in calls] == [[], kept]
