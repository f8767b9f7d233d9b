"""A service's life: start, reload, stop, and every way in which it may end."""

import json
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import httpx
import pytest

from kds.api.conversations import Conversations
from kds.brain.context.journal import ContextJournal
from kds.brain.settings import SettingsError
from kds.brain.turn import Turn
from kds.service import lifecycle
from kds.service.errors import AlreadyServedError
from kds.service.server import ServiceOptions
from kds.service.service_client import ServiceAddress

from ...effort import PATIENCE_S
from .conftest import meanwhile, running_for_user, socket_client, wait_until

KEPT = {"service.lock", "service.token"}
"""What stays when a service has ended."""

PLAN = {"message": "I want to add a FAB button"}
PURPLE = {"message": "Make it purple"}


def left_behind() -> set[str]:
    return {path.name for path in ServiceAddress().folder.iterdir()} - KEPT


def test_a_stop_finishes_what_is_in_flight_and_leaves_nothing_behind(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    entered, gate = threading.Event(), threading.Event()
    route = Conversations.route

    def wait_and_route(self: Conversations, message: str, **options: Any) -> Turn:
        entered.set()
        assert gate.wait(PATIENCE_S)
        return route(self, message, **options)

    monkeypatch.setattr(Conversations, "route", wait_and_route)
    with running_for_user(folder) as service, service.client() as client:
        with meanwhile(lambda: client.post("/route", json=PLAN)) as replies:
            assert entered.wait(PATIENCE_S)
            service.service.stop()
            wait_until(lambda: not service.address.socket_path.exists())
            with pytest.raises(AlreadyServedError):  # it has not ended yet
                service.service.run()
            gate.set()
        service.join()
    assert replies[0].json()["intent"] == "PLAN"
    assert left_behind() == set()
    assert [line.split(":")[0] for line in service.lines] == ["started", "stopped"]


def test_a_service_that_nobody_asks_ends_by_itself(folder: Path) -> None:
    with running_for_user(folder, options=ServiceOptions(idle_s=0.01)) as service:
        service.join()
    assert service.lines[-1] == "stopped: no request for 0.01 s"
    assert left_behind() == set()


def test_a_service_that_cannot_start_lets_go_and_one_with_broken_prompts_starts(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("KDS_MEMORY", "perhaps")
    with pytest.raises(SettingsError):
        running_for_user(folder).__enter__()
    monkeypatch.delenv("KDS_MEMORY")
    assert left_behind() == set()
    prompt = folder / "prompts" / "internal" / "broken.md"
    prompt.parent.mkdir(parents=True)
    prompt.write_text("---\nno end of the front matter")
    with running_for_user(folder) as service, service.client() as client:
        assert client.get("/healthz").json()["status"] == "degraded"
        prompt.unlink()
        wait_until(lambda: client.get("/healthz").json()["status"] == "ok")


Process = Callable[..., subprocess.Popen[str]]


@pytest.fixture
def process(launchers: Path) -> Iterator[Process]:
    """Starts a service of a folder as a process; its number is in its state file."""
    with ExitStack() as stack:

        def start(folder: Path) -> subprocess.Popen[str]:
            command = [str(launchers / "kds"), "serve", "--workspace", str(folder)]
            started = subprocess.Popen(command, stderr=subprocess.PIPE, text=True)
            stack.enter_context(started)
            stack.callback(lifecycle.stop, force=True)
            return started

        yield start


def signalled(number: signal.Signals) -> None:
    state = json.loads(ServiceAddress().state_path.read_bytes())
    os.kill(state["pid"], number)


unix = pytest.mark.skipif(sys.platform == "win32", reason="signals of unix")


@unix
def test_of_two_starts_at_once_one_remains_and_ends_well_at_a_signal(
    folder: Path, process: Process
) -> None:
    one, two = process(folder), process(folder)
    wait_until(lambda: one.poll() is not None or two.poll() is not None)
    loser, winner = (one, two) if one.poll() is not None else (two, one)
    assert loser.returncode == 3
    said = loser.communicate()[1]
    assert "serves this user already" in said
    assert "end it first with `kds service stop`" in said
    wait_until(ServiceAddress().socket_path.exists)
    with socket_client(folder) as client:
        assert client.post("/route", json=PLAN).json()["intent"] == "PLAN"
        signalled(signal.SIGTERM)
        _, log = winner.communicate(timeout=PATIENCE_S)
    assert winner.returncode == 0
    assert log.splitlines()[-1].endswith("stopped: SIGTERM")
    assert "FAB" not in log
    assert left_behind() == set()


@unix
def test_after_a_kill_in_the_middle_of_requests_the_next_start_serves(
    folder: Path, process: Process
) -> None:
    replies: list[int] = []

    def ask_on() -> None:
        with socket_client(folder) as client:
            try:
                while True:
                    replies.append(client.post("/route", json=PLAN).status_code)
            except httpx.TransportError:
                return

    killed = process(folder)
    wait_until(ServiceAddress().socket_path.exists)
    asking = [threading.Thread(target=ask_on) for _ in range(3)]
    for thread in asking:
        thread.start()
    wait_until(lambda: len(replies) > 10)
    signalled(signal.SIGKILL)
    for thread in asking:
        thread.join(PATIENCE_S)
    killed.wait(PATIENCE_S)
    assert left_behind() == {"service.sock", "service.json"}
    loaded = ContextJournal(folder / "kds-brain" / "conversation-context.jsonl").load()
    assert len(loaded.entries) == 10
    assert loaded.warnings == ()
    with running_for_user(folder) as service, service.client() as client:
        reply = client.post("/route", json=PURPLE).json()
        assert reply["expanded"] == "Make the FAB button purple"
