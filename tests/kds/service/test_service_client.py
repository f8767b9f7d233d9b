"""Whom the client asks: a service of this user on this machine, and nobody else."""

import json
import os
import socket
from collections.abc import Iterator
from pathlib import Path

import pytest

from kds.brain.errors import KdsError
from kds.brain.workspace import Workspace
from kds.service.service_client import ServiceAddress, ServiceClient, reach


@pytest.fixture
def place(tmp_path: Path) -> Workspace:
    (tmp_path / "kds-brain").mkdir()
    return Workspace(tmp_path, tmp_path / "kds-brain")


@pytest.fixture
def listener() -> Iterator[socket.socket]:
    with socket.create_server(("127.0.0.1", 0)) as server:
        server.setblocking(False)
        yield server


def _announce(place: Workspace, host: str, port: int, *, mode: int = 0o600) -> ServiceAddress:
    address = ServiceAddress(place.brain)
    address.state_path.write_text(json.dumps({"http": {"host": host, "port": port}}))
    address.token_path.write_text("token")
    address.lock_path.touch()
    for path in (address.state_path, address.token_path, address.lock_path):
        path.chmod(mode)
    return address


def _was_asked(server: socket.socket) -> bool:
    try:
        server.accept()[0].close()
    except BlockingIOError:
        return False
    return True


def _hold(lock: Path) -> int:
    fcntl = pytest.importorskip("fcntl")
    descriptor = os.open(lock, os.O_RDWR)
    fcntl.flock(descriptor, fcntl.LOCK_EX)
    return descriptor


def test_a_service_of_ours_is_asked_over_loopback(
    place: Workspace, listener: socket.socket
) -> None:
    address = _announce(place, *listener.getsockname())
    held = _hold(address.lock_path)
    assert reach(place) is not None
    assert _was_asked(listener)
    os.close(held)


@pytest.mark.parametrize("mode", [0o600, 0o644])
def test_files_that_no_running_service_made_lead_nowhere(
    place: Workspace, listener: socket.socket, mode: int
) -> None:
    address = _announce(place, *listener.getsockname(), mode=mode)
    if mode == 0o644:  # as git writes them
        _hold(address.lock_path)
    assert reach(place) is None
    assert not _was_asked(listener)


def test_any_address_of_loopback_is_this_machine(place: Workspace) -> None:
    with socket.create_server(("127.0.0.5", 0)) as listener:
        listener.setblocking(False)
        held = _hold(_announce(place, *listener.getsockname()).lock_path)
        assert reach(place) is not None
        assert _was_asked(listener)
    os.close(held)


@pytest.mark.parametrize("host", ["127.evil.example", "192.0.2.1", "evil.example", "0.0.0.0", ""])
def test_no_other_machine_is_ever_asked(place: Workspace, host: str) -> None:
    _hold(_announce(place, host, 80).lock_path)
    assert reach(place) is None  # conftest fails a test that reaches for the network


def test_a_token_behind_a_link_is_not_read(
    place: Workspace, listener: socket.socket, tmp_path: Path
) -> None:
    address = _announce(place, *listener.getsockname())
    secret = tmp_path / "secret"
    secret.write_text("ghp_secret")
    secret.chmod(0o600)
    address.token_path.unlink()
    address.token_path.symlink_to(secret)
    _hold(address.lock_path)
    assert reach(place) is None
    assert not _was_asked(listener)


def test_a_pipe_in_the_place_of_the_state_file_does_not_hang(place: Workspace) -> None:
    os.mkfifo(ServiceAddress(place.brain).state_path)
    assert reach(place) is None


def test_a_link_to_another_socket_is_refused(place: Workspace, tmp_path: Path) -> None:
    with socket.socket(socket.AF_UNIX) as other:
        other.bind(str(tmp_path / "other.sock"))
        other.listen()
        ServiceAddress(place.brain).socket_path.symlink_to(tmp_path / "other.sock")
    assert reach(place) is None


def test_an_answer_that_does_not_come_in_time_is_not_waited_for(place: Workspace) -> None:
    with socket.socket(socket.AF_UNIX) as silent:
        silent.bind(str(ServiceAddress(place.brain).socket_path))
        silent.listen()
        with pytest.raises(KdsError, match=r"took longer than 0\.05 s"):
            ServiceClient(place, timeout_s=0.05).health()


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() != 0, reason="needs to be root")
def test_the_socket_of_another_user_is_refused(place: Workspace) -> None:
    path = ServiceAddress(place.brain).socket_path
    with socket.socket(socket.AF_UNIX) as other:
        other.bind(str(path))
        other.listen()
        os.chown(path, 65534, 65534)
        assert reach(place) is None
