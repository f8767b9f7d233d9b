"""Which service a client asks: that of this user on this machine, and no other."""

import json
import os
import socket
from collections.abc import Iterator
from pathlib import Path

import pytest

from kds.brain.environment import own_folder, runtime_folder
from kds.brain.errors import KdsError
from kds.brain.workspace import Workspace
from kds.service.service_client import ServiceAddress, ServiceClient, answers

as_root = pytest.mark.skipif(
    not hasattr(os, "geteuid") or os.geteuid() != 0, reason="only root can make files of others"
)


@pytest.fixture
def address() -> ServiceAddress:
    """Where the user's service is, with its folders made."""
    found = ServiceAddress()
    found.ensure()
    return found


@pytest.fixture
def listener() -> Iterator[socket.socket]:
    with socket.create_server(("127.0.0.1", 0)) as server:
        server.setblocking(False)
        yield server


def _listen(address: ServiceAddress) -> socket.socket:
    server = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    server.bind(str(address.socket_path))
    server.listen()
    return server


def _announce(address: ServiceAddress, server: socket.socket) -> None:
    host, port = server.getsockname()
    address.state_path.write_text(json.dumps({"http": {"host": host, "port": port}}))
    address.token_path.write_text("token")
    for path in (address.state_path, address.token_path):
        path.chmod(0o600)


def _hold(lock: Path) -> int:
    fcntl = pytest.importorskip("fcntl")
    descriptor = os.open(lock, os.O_RDWR | os.O_CREAT, 0o600)
    fcntl.flock(descriptor, fcntl.LOCK_EX)
    return descriptor


def _was_asked(server: socket.socket) -> bool:
    try:
        server.accept()[0].close()
    except BlockingIOError:
        return False
    return True


def test_a_service_without_a_socket_is_asked_over_loopback(
    address: ServiceAddress, listener: socket.socket
) -> None:
    _announce(address, listener)
    assert not answers(address), "no process holds the lock: the port may be another user's now"
    held = _hold(address.lock_path)
    assert answers(address)
    assert _was_asked(listener)
    os.close(held)


def test_a_token_that_others_can_read_is_not_sent(
    address: ServiceAddress, listener: socket.socket
) -> None:
    _announce(address, listener)
    held = _hold(address.lock_path)
    address.token_path.chmod(0o644)
    assert not answers(address)
    assert not _was_asked(listener)
    os.close(held)


@pytest.mark.parametrize("wrong", ["mode", "link", pytest.param("owner", marks=as_root)])
def test_a_folder_that_others_may_write_to_is_not_trusted(
    address: ServiceAddress, tmp_path: Path, wrong: str
) -> None:
    with _listen(address):
        assert answers(address)
        if wrong == "mode":
            address.folder.chmod(0o770)
        elif wrong == "owner":
            os.chown(address.folder, 65534, 65534)
        else:
            address.folder.rename(tmp_path / "elsewhere")
            address.folder.symlink_to(tmp_path / "elsewhere")
        assert not answers(address)


@as_root
def test_a_runtime_folder_of_another_user_is_passed_over(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    os.chown(tmp_path, 65534, 65534)
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(tmp_path))
    assert not runtime_folder().startswith(str(tmp_path))
    monkeypatch.setenv("XDG_RUNTIME_DIR", "relative")
    monkeypatch.setattr(os, "geteuid", lambda: 4711)
    assert runtime_folder() == os.path.join(own_folder(), "run")  # noqa: PTH118


def test_an_answer_that_does_not_come_in_time_is_not_waited_for(
    address: ServiceAddress, workspace: Path
) -> None:
    with _listen(address), pytest.raises(KdsError, match=r"took longer than 0\.05 s"):
        ServiceClient(Workspace.find(workspace), timeout_s=0.05).ask("GET /healthz")
