"""The service in the background: started, asked, stopped, and never twice."""

import json
import os
import signal
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from kds.brain.errors import KdsError
from kds.brain.workspace import Workspace
from kds.service import lifecycle
from kds.service.service_client import ServiceAddress, ServiceClient, reach


@pytest.fixture
def place(served_place: Workspace) -> Workspace:
    return served_place


def test_without_a_service_there_is_nothing_to_see_or_stop(place: Workspace) -> None:
    assert not lifecycle.is_running()
    assert lifecycle.health(place) is None
    assert lifecycle.stop() == "not running"
    assert reach(place) is None


def test_a_service_is_started_once_asked_and_stopped(place: Workspace) -> None:
    first = lifecycle.start(place, idle_minutes=5)
    again = lifecycle.start(place, idle_minutes=5)
    assert again["pid"] == first["pid"] != os.getpid()
    client = ServiceClient(place)
    client.route("I want to add a FAB button")
    turn = client.route("Make it purple")
    assert (turn.expanded, turn.context_ref) == ("Make the FAB button purple", "FAB button")
    assert turn.why
    with pytest.raises(KdsError, match="empty"):
        client.route("   ")
    log = ServiceAddress().log_path
    assert stat.S_IMODE(log.stat().st_mode) == 0o600
    assert "purple" not in log.read_text()
    assert lifecycle.stop() == "stopped"
    assert not ServiceAddress().socket_path.exists()


def test_a_service_that_is_on_its_way_is_stopped_as_well(place: Workspace) -> None:
    lifecycle.spawn_service(idle_minutes=5)
    assert lifecycle.stop() == "stopped"
    assert not lifecycle.is_running()
    assert lifecycle.coming() is None


def test_a_service_that_hangs_is_killed_only_when_that_is_wanted(place: Workspace) -> None:
    pid = lifecycle.start(place, idle_minutes=5)["pid"]
    os.kill(pid, signal.SIGSTOP)
    with pytest.raises(KdsError, match=f"pid {pid}.*did not end"):
        lifecycle.stop(timeout_s=0.2)
    assert lifecycle.stop(timeout_s=0.2, force=True) == "killed"
    assert not lifecycle.is_running()


def test_a_start_that_fails_says_why(
    place: Workspace, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    program = tmp_path / "kds"
    program.write_text("#!/bin/sh\necho no room >&2\nexit 1\n")
    program.chmod(0o755)
    monkeypatch.setattr(lifecycle, "COMMAND", (str(program),))
    with pytest.raises(KdsError, match="did not start: no room") as caught:
        lifecycle.start(place, idle_minutes=5)
    assert "kds serve" in str(caught.value)


def test_a_process_is_never_signalled_by_a_stale_file() -> None:
    bystander = subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE)
    try:
        state = {"pid": bystander.pid, "http": None}
        ServiceAddress().ensure()
        ServiceAddress().state_path.write_text(json.dumps(state))
        ServiceAddress().lock_path.touch()
        assert lifecycle.stop(force=True) == "not running"
        assert bystander.poll() is None
    finally:
        bystander.kill()
        bystander.communicate()
