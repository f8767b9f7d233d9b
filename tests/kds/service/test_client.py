"""Which service a client asks: that of this user on this machine, and no other."""

import os
import socket
from pathlib import Path

import pytest

from kds.brain.discovery import own_folder, runtime_folder
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


def _listen(address: ServiceAddress) -> socket.socket:
    server = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    server.bind(str(address.socket_path))
    server.listen()
    return server


@as_root
def test_a_folder_of_another_user_is_not_trusted(address: ServiceAddress) -> None:
    with _listen(address):
        assert answers(address)
        os.chown(address.folder, 65534, 65534)
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
        ServiceClient(Workspace.find(workspace), timeout_s=0.05).health()
