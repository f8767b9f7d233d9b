"""What holds for every test: no network, a home of its own, no workspace from outside."""

import ipaddress
import os
import shutil
import socket
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import kds
from kds.brain.clock import utc_now

from . import preloaded

pytest_plugins = ["pytester"]

_connect = socket.socket.connect

OUTSIDE = (
    *("KDS_DEBUG", "KDS_CONFIG", "KDS_REWRITING", "KDS_LEARNING", "XDG_CONFIG_HOME", "APPDATA"),
    *("OPENAI_API_KEY", "OPENAI_BASE_URL", "ANTHROPIC_API_KEY", "LANGSMITH_TRACING"),
)
"""Variables of whoever runs the tests that would change what they see."""


def _is_local(address: Any) -> bool:
    """Unix sockets and loopback addresses are this machine talking to itself."""
    if not isinstance(address, tuple):
        return True
    host = str(address[0]).partition("%")[0]
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


@pytest.fixture(autouse=True)
def _no_network(monkeypatch: pytest.MonkeyPatch) -> None:
    def connect(self: socket.socket, address: Any) -> None:
        if not _is_local(address):
            raise AssertionError(f"a test tried to reach the network: {address}")
        _connect(self, address)

    monkeypatch.setattr(socket.socket, "connect", connect)


@pytest.fixture(autouse=True)
def _own_home(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> None:
    home = tmp_path_factory.getbasetemp() / "home"
    home.mkdir(exist_ok=True)
    monkeypatch.setenv("HOME", str(home))
    monkeypatch.setenv("USERPROFILE", str(home))
    monkeypatch.delenv("KDS_HOME", raising=False)
    for name in (*OUTSIDE, *(name for name in os.environ if name.startswith("KDS_MODEL"))):
        monkeypatch.delenv(name, raising=False)


@pytest.fixture
def workspace(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A fresh workspace folder, which is also the current one."""
    folder = tmp_path / "workspace"
    (folder / "kds-brain").mkdir(parents=True)
    monkeypatch.chdir(folder)
    return folder


@pytest.fixture(scope="session")
def launchers() -> Iterator[Path]:
    """A folder with `kds` and `python-block CODE`: real processes that start in no time."""
    with preloaded.launchers() as folder:
        yield folder


@pytest.fixture(scope="session")
def fitted_brain(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A `kds-brain` folder in which the intent model has been fitted, once for all tests."""
    folder = tmp_path_factory.mktemp("fitted")
    kds.Router.open(folder).rehearse(utc_now).route("I want to add a FAB button")
    return folder / "kds-brain"


@pytest.fixture
def fitted_workspace(workspace: Path, fitted_brain: Path) -> Path:
    """The fresh workspace, with a fitted model: nothing is remembered, nothing is slow."""
    shutil.copytree(fitted_brain, workspace / "kds-brain", dirs_exist_ok=True)
    return workspace
