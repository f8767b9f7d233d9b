"""The service in the background: started, asked, stopped, and never twice."""

import json
import os
import signal
import stat
import subprocess
import sys
from contextlib import nullcontext

import pytest
from filelock import FileLock

from kds.brain.errors import KdsError
from kds.brain.workspace import Workspace
from kds.service import background
from kds.service.background import start_of
from kds.service.lifecycle import bind_private
from kds.service.service_client import ServiceAddress, ServiceClient, reach


@pytest.fixture
def place(served_place: Workspace) -> Workspace:
    return served_place


def test_without_a_service_there_is_nothing_to_see_or_stop(place: Workspace) -> None:
    assert not background.is_running(place)
    assert background.health(place) is None
    assert background.stop(place) == "not running"
    assert reach(place) is None


def test_a_service_is_started_once_asked_and_stopped(place: Workspace) -> None:
    first = background.start(place, idle_minutes=5)
    again = background.start(place, idle_minutes=5)
    assert again["pid"] == first["pid"] != os.getpid()
    client = ServiceClient(place)
    client.route("I want to add a FAB button")
    turn = client.route("Make it purple")
    assert (turn.expanded, turn.context_ref) == ("Make the FAB button purple", "FAB button")
    assert turn.why
    with pytest.raises(KdsError, match="empty"):
        client.route("   ")
    log = ServiceAddress(place.brain).log_path
    assert stat.S_IMODE(log.stat().st_mode) == 0o600
    assert "purple" not in log.read_text()
    assert background.stop(place) == "stopped"
    assert not ServiceAddress(place.brain).socket_path.exists()


def test_a_service_that_is_on_its_way_is_stopped_as_well(place: Workspace) -> None:
    background.spawn_service(place, idle_minutes=5)
    assert background.stop(place) == "stopped"
    assert not background.is_running(place)
    assert background.coming(place) is None


def test_a_service_that_hangs_is_killed_only_when_that_is_wanted(place: Workspace) -> None:
    pid = background.start(place, idle_minutes=5)["pid"]
    os.kill(pid, signal.SIGSTOP)
    with pytest.raises(KdsError, match=f"pid {pid}.*did not end"):
        background.stop(place, timeout_s=0.2)
    assert background.stop(place, timeout_s=0.2, force=True) == "killed"
    assert not background.is_running(place)


@pytest.mark.skipif(sys.platform != "linux", reason="the system does not tell whose a number is")
@pytest.mark.parametrize(
    ("opened", "listens", "later"), [(False, False, 0), (True, True, 0), (True, False, 1)]
)
def test_a_foreign_process_in_the_state_file_is_not_ended(
    place: Workspace, opened: bool, listens: bool, later: int
) -> None:
    """One that got the number of a service later, or that a project names, with all it can know."""
    address = ServiceAddress(place.brain)
    with (
        FileLock(address.lock_path),
        address.lock_path.open() as lock,
        subprocess.Popen(
            [sys.executable, "-c", "input()"],
            stdin=subprocess.PIPE, pass_fds=[lock.fileno()] if opened else [],
        ) as other,
        bind_private(address.socket_path) if listens else nullcontext(),
    ):  # fmt: skip
        began = start_of(other.pid)
        assert began is not None
        state = {"pid": other.pid, "process_began": began - later}
        address.state_path.write_text(json.dumps(state))
        with pytest.raises(KdsError, match="another one"):
            background.stop(place, force=True, timeout_s=0.1)
        assert other.poll() is None
        other.communicate(b"\n")
    assert other.returncode == 0


def test_a_start_that_fails_says_why(place: Workspace) -> None:
    place.rules_dir.mkdir()
    (place.rules_dir / "broken.yaml").write_text("rules: [")
    with pytest.raises(KdsError, match="did not start") as caught:
        background.start(place, idle_minutes=5)
    assert "broken.yaml" in ServiceAddress(place.brain).log_path.read_text()
    assert "kds serve" in str(caught.value)


def test_a_process_is_never_signalled_by_a_stale_file(place: Workspace) -> None:
    bystander = subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE)
    try:
        state = {"pid": bystander.pid, "http": None}
        ServiceAddress(place.brain).state_path.write_text(json.dumps(state))
        ServiceAddress(place.brain).lock_path.touch()
        assert background.stop(place, force=True) == "not running"
        assert bystander.poll() is None
    finally:
        bystander.kill()
        bystander.communicate()


def test_a_large_log_gives_way_to_a_new_one(place: Workspace) -> None:
    path = ServiceAddress(place.brain).log_path
    path.write_bytes(b"x" * (background.LOG_LIMIT + 1))
    background._open_log(path).close()
    assert path.stat().st_size == 0
    assert path.with_suffix(".log.1").stat().st_size > background.LOG_LIMIT
