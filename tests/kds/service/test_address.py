"""Where a service is found: short paths, long ones, and none."""

import os
import socket
import threading
from pathlib import Path
from time import monotonic

import pytest

from kds.hooks.call import PATH_LIMIT, at_short, connect
from kds.hooks.trouble import NoService
from kds.service.service_client import ServiceAddress

from ...effort import PATIENCE_S


def _listen(address: ServiceAddress) -> socket.socket:
    listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    at_short(str(address.socket_path), listener.bind)
    listener.listen()
    return listener


@pytest.mark.parametrize("depth", [1, 30])
def test_a_socket_is_reached_however_long_its_path_is(tmp_path: Path, depth: int) -> None:
    brain = tmp_path.joinpath(*["deep-folder"] * depth)
    brain.mkdir(parents=True)
    address = ServiceAddress(brain)
    assert (len(os.fsencode(address.socket_path)) > PATH_LIMIT) == (depth == 30)
    with _listen(address) as listener:
        answered = threading.Thread(target=lambda: listener.accept()[0].close())
        answered.start()
        connection = connect(str(brain), monotonic() + PATIENCE_S).connection
        assert connection.recv(1) == b""
        connection.close()
        answered.join()


@pytest.mark.parametrize("name", [".", "nowhere"])
def test_nobody_there_is_no_service(tmp_path: Path, name: str) -> None:
    with pytest.raises(NoService):
        connect(str(tmp_path / name), monotonic() + 1)


def test_a_short_spelling_leaves_no_descriptor_open(tmp_path: Path) -> None:
    brain = tmp_path.joinpath(*["deep-folder"] * 30)
    brain.mkdir(parents=True)
    before = len(os.listdir("/proc/self/fd"))  # noqa: PTH208  # pathlib would open one more
    said: list[str] = []
    at_short(str(ServiceAddress(brain).socket_path), said.append)
    assert len(said[0]) < PATH_LIMIT
    assert len(os.listdir("/proc/self/fd")) == before  # noqa: PTH208
