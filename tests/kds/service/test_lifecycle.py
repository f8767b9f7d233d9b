"""One service a user: its lock, socket and state file; started, asked, stopped, and never twice."""

import json
import os
import signal
import socket
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from kds.brain.errors import KdsError, StoreError
from kds.brain.workspace import Workspace
from kds.service import lifecycle
from kds.service.errors import AlreadyServedError, ServiceError
from kds.service.lifecycle import announce, bind_socket, claim
from kds.service.service_client import ServiceAddress, ServiceClient, reach

unix = pytest.mark.skipif(not hasattr(socket, "AF_UNIX"), reason="no unix sockets here")


@pytest.fixture
def place() -> ServiceAddress:
    """Where the user's service is."""
    return ServiceAddress()


def mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


def connects(path: Path) -> bool:
    with socket.socket(socket.AF_UNIX) as connection:
        return connection.connect_ex(str(path)) == 0


@unix
def test_a_user_is_served_once_and_what_a_killed_service_left_is_taken_over(
    place: ServiceAddress,
) -> None:
    place.ensure()
    place.state_path.touch()
    with socket.socket(socket.AF_UNIX) as left:  # by one that was killed
        left.bind(str(place.socket_path))
    with claim(place):
        assert {path.name for path in place.folder.iterdir()} == {"service.lock"}
        announce(place, {"pid": 4711})
        with bind_socket(place.socket_path):
            assert connects(place.socket_path)
            with pytest.raises(AlreadyServedError, match="process 4711 serves this user already"):
                claim(place)
            assert connects(place.socket_path)
        assert json.loads(place.state_path.read_bytes()) == {"pid": 4711}
        assert [mode(path) for path in (place.state_path, place.socket_path)] == [0o600] * 2
    claim(place).close()
    assert {path.name for path in place.folder.iterdir()} == {"service.lock"}


@unix
def test_a_folder_is_made_private_and_a_link_in_its_place_refused(
    place: ServiceAddress, tmp_path: Path
) -> None:
    place.folder.mkdir(mode=0o777)
    place.folder.chmod(0o777)
    claim(place).close()
    assert mode(place.folder) == 0o700
    place.folder.rename(tmp_path / "elsewhere")
    place.folder.symlink_to(tmp_path / "elsewhere")
    with pytest.raises(StoreError, match="is a link"):
        claim(place)


def test_a_service_is_started_once_asked_and_stopped(served_place: Workspace) -> None:
    assert (lifecycle.is_running(), lifecycle.health(served_place)) == (False, None)
    assert (lifecycle.stop(), reach(served_place)) == ("not running", None)
    first = lifecycle.start(served_place, idle_minutes=5)
    again = lifecycle.start(served_place, idle_minutes=5)
    assert again["pid"] == first["pid"] != os.getpid()
    client = ServiceClient(served_place)
    client.route("I want to add a FAB button")
    turn = client.route("Make it purple")
    assert (turn.expanded, turn.context_ref) == ("Make the FAB button purple", "FAB button")
    with pytest.raises(KdsError, match="empty"):
        client.route("   ")
    log = ServiceAddress().log_path
    assert mode(log) == 0o600
    assert "purple" not in log.read_text()
    assert lifecycle.stop() == "stopped"
    assert not ServiceAddress().socket_path.exists()


def test_a_service_that_hangs_is_killed_only_when_that_is_wanted(served_place: Workspace) -> None:
    pid = lifecycle.start(served_place, idle_minutes=5)["pid"]
    os.kill(pid, signal.SIGSTOP)
    with pytest.raises(KdsError, match=f"process {pid}.*did not end"):
        lifecycle.stop(timeout_s=0.2)
    assert lifecycle.stop(timeout_s=0.2, force=True) == "killed"
    assert not lifecycle.is_running()


def test_a_start_that_fails_says_why(
    served_place: Workspace, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    program = tmp_path / "kds"
    program.write_text("#!/bin/sh\necho no room >&2\nexit 1\n")
    program.chmod(0o755)
    monkeypatch.setattr(lifecycle, "COMMAND", (str(program),))
    with pytest.raises(KdsError, match="did not start: no room") as caught:
        lifecycle.start(served_place, idle_minutes=5)
    assert "kds serve" in str(caught.value)


def test_a_process_is_never_signalled_by_a_stale_file(place: ServiceAddress) -> None:
    bystander = subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE)
    try:
        place.ensure()
        place.state_path.write_text(json.dumps({"pid": bystander.pid, "http": None}))
        place.lock_path.touch()
        assert lifecycle.stop(force=True) == "not running"
        assert bystander.poll() is None
    finally:
        bystander.kill()
        bystander.communicate()


def test_where_there_are_no_unix_sockets_the_way_over_loopback_is_named(
    place: ServiceAddress, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delattr(socket, "AF_UNIX", raising=False)
    with pytest.raises(ServiceError, match="no unix sockets") as caught:
        bind_socket(place.socket_path)
    assert "kds serve --no-socket" in str(caught.value)
