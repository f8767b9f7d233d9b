"""What holds for every test: no network, a home of its own, no workspace from outside."""

import gc
import ipaddress
import os
import shutil
import signal
import socket
import ssl
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, settings

import kds
from kds.brain.clock import utc_now

from . import preloaded
from .postgres import (  # noqa: F401  # fixtures
    either_engine,
    outage,
    postgres,
    server,
    shared_server,
    shared_url,
    template,
    url,
)

pytest_plugins = ["pytester"]

# The same examples in each run: a change is judged by what it changes. `make explore` draws others,
# and many more. No example has a time to keep: a busy machine is slow.
_PATIENT = settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.register_profile("kds", _PATIENT, max_examples=50, derandomize=True)
settings.register_profile("explore", _PATIENT, max_examples=1000)
settings.load_profile("kds")

# Where bytecode is not to be written, each process that a test starts would compile KDS anew.
sys.dont_write_bytecode = False
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)

# The processes of a run have the cores already: threads of matrices beside them only wait for each
# other, and a fit took four times the CPU. numpy reads this when it is loaded, in the workers.
os.environ |= {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}

# A shell has what it runs in the background ignore interrupts, and so would all that tests start.
signal.signal(signal.SIGINT, signal.default_int_handler)

# Clients of HTTP trust nobody: none leaves this machine, and the list takes 50 ms to read.
ssl.SSLContext.load_verify_locations = lambda *_, **__: None  # type: ignore[method-assign]

_connect = socket.socket.connect

ROOT = Path(__file__).resolve().parent.parent
REAL_HOME = os.environ.setdefault("KDS_TESTS_REAL_HOME", str(Path.home()))
"""The home of the user who runs the tests; workers of a run have another one by then."""

USERS = (
    str(ROOT / "kds-brain"),
    *(f"{REAL_HOME}/{one}" for one in (".config/kds", ".local/state/kds", ".cache/kds")),
)
"""The user's own folders: no test may write to them, or connect to a socket in them."""

OUTSIDE = (
    *("KDS_DEBUG", "KDS_CONFIG", "KDS_REWRITING", "KDS_LEARNING", "XDG_CONFIG_HOME", "APPDATA"),
    *("KDS_SERVICE", "KDS_SERVICE_IDLE_MINUTES", "KDS_MEMORY", "KDS_SPACY_MODEL"),
    *("KDS_DATABASE", "KDS_DATABASE_ORGANISATION", "KDS_DATABASE_PERSON", "KDS_DATABASE_PROJECT"),
    *("OPENAI_API_KEY", "OPENAI_BASE_URL", "ANTHROPIC_API_KEY", "LANGSMITH_TRACING"),
)
"""Variables of whoever runs the tests that would change what they see."""

SLOW = ("tests/test_docs.py", "tests/kds/web/test_every_page.py")
"""Files with tests of ten seconds: begun last, one of them would run alone in the end."""

MEMORY = "/dev/shm"
ROOM_BYTES = 2 << 30

LAUNCHERS = pytest.StashKey[Path]()


def pytest_configure(config: pytest.Config) -> None:
    """One process of a run starts the launchers, and tells those beside it where they are.

    The folders of tests go with the run; `--basetemp FOLDER` keeps those of tests that failed.
    """
    tempfile.tempdir = _memory()
    if hasattr(config, "workerinput"):
        config.stash[LAUNCHERS] = Path(config.workerinput["launchers"])
    else:
        home = tempfile.mkdtemp(prefix="kds-home-")  # for what lives longer than a test
        config.add_cleanup(lambda: shutil.rmtree(home, ignore_errors=True))
        os.environ.update(HOME=home, USERPROFILE=home, XDG_RUNTIME_DIR=home)
        os.environ.pop("XDG_CONFIG_HOME", None)
        if not config.option.basetemp:
            config.option.basetemp = folder = tempfile.mkdtemp(prefix="kds-")
            config.add_cleanup(lambda: shutil.rmtree(folder, ignore_errors=True))
        started = preloaded.launchers()
        config.stash[LAUNCHERS] = started.__enter__()
        config.add_cleanup(lambda: started.__exit__(None, None, None))


def _memory() -> str | None:
    """A folder in memory that has room, and where programs may run, or None: on a disk, waiting
    until what was written is kept took a third of the time.
    """
    if not os.access(MEMORY, os.W_OK):
        return None
    found = os.statvfs(MEMORY)
    roomy = found.f_bavail * found.f_frsize > ROOM_BYTES
    return MEMORY if roomy and not found.f_flag & os.ST_NOEXEC else None


@pytest.hookimpl(optionalhook=True)
def pytest_configure_node(node: Any) -> None:
    """Hand on where the launchers are, to a process that runs tests."""
    node.workerinput["launchers"] = str(node.config.stash[LAUNCHERS])


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Begin with the files that are slow."""
    items.sort(key=lambda item: not item.nodeid.startswith(SLOW))


def _is_local(address: Any) -> bool:
    """Unix sockets and loopback addresses are this machine talking to itself."""
    if not isinstance(address, tuple):
        return True
    host = str(address[0]).partition("%")[0]
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


# What the tests import stays, a million objects: the collector need not go through them again and
# again while they are loaded, nor later.
gc.disable()


def pytest_collection_finish() -> None:
    """Have the collector leave alone what was loaded."""
    gc.collect()
    gc.freeze()
    gc.enable()


@pytest.fixture(autouse=True)
def _no_network(monkeypatch: pytest.MonkeyPatch) -> None:
    def connect(self: socket.socket, address: Any) -> None:
        if not _is_local(address):
            raise AssertionError(f"a test tried to reach the network: {address}")
        if self.family == getattr(socket, "AF_UNIX", None) and not _is_ours(address):
            raise AssertionError(f"a test tried to reach the user's own service: {address}")
        _connect(self, address)

    monkeypatch.setattr(socket.socket, "connect", connect)


def _is_ours(path: object) -> bool:
    """Whether a unix socket belongs to a test, and not to the user's own service."""
    if not isinstance(path, str | bytes) or os.fsdecode(path).startswith("\0"):
        return True
    where = os.path.realpath(os.fsdecode(path))  # the client connects from within the folder
    return not where.startswith(tuple(f"{one}/" for one in USERS))


def _watch_writing(event: str, given: tuple[Any, ...]) -> None:
    """Fail a test that opens a file of the user's to write to it."""
    if event != "open" or not isinstance(given[0], str | bytes):
        return
    _, mode, flags = given
    writes = bool(flags & (os.O_WRONLY | os.O_RDWR)) if isinstance(flags, int) else bool(mode)
    if writes and str(Path(os.fsdecode(given[0])).absolute()).startswith(USERS):
        raise AssertionError(f"a test wrote to a file of the user's: {given[0]!r}")


sys.addaudithook(_watch_writing)


@pytest.fixture(autouse=True)
def _own_places(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> None:
    """A home and an empty current folder of the run's own, and a runtime folder of the test's."""
    base = tmp_path_factory.getbasetemp()
    home, here = base / "home", base / "elsewhere"
    for folder in (home, here):
        folder.mkdir(mode=0o700, exist_ok=True)
    runtime = tempfile.mkdtemp(prefix="runtime-", dir=base)
    monkeypatch.setenv("XDG_RUNTIME_DIR", runtime)
    monkeypatch.chdir(here)
    monkeypatch.setenv("HOME", str(home))
    monkeypatch.setenv("USERPROFILE", str(home))
    monkeypatch.delenv("KDS_HOME", raising=False)
    monkeypatch.setenv("KDS_SERVICE_AUTO", "0")  # no test leaves a service behind
    for name in (*OUTSIDE, *(one for one in os.environ if one.startswith(("KDS_MODEL", "OTEL_")))):
        monkeypatch.delenv(name, raising=False)


@pytest.fixture
def workspace(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A fresh workspace folder, which is also the current one."""
    folder = tmp_path / "workspace"
    (folder / "kds-brain").mkdir(parents=True)
    monkeypatch.chdir(folder)
    return folder


@pytest.fixture
def anyio_backend() -> str:
    """What runs the tests that are coroutines."""
    return "asyncio"


@pytest.fixture(scope="session")
def launchers(request: pytest.FixtureRequest) -> Path:
    """A folder with `kds` and `python-block CODE`: real processes that start in no time."""
    folder = request.config.stash[LAUNCHERS]
    subprocess.run([folder / "python-block", ""], check=True)  # the first waits for what is loaded
    return folder


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
