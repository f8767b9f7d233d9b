"""A clock to set by hand, folders as an ordinary user sees them, memories to test with.

`conformance`, `passage_conformance`, `document_conformance`, `document_recall_conformance`,
`document_texts` and `spoken` can be imported: every implementation's tests share them.
"""

import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import nullcontext
from pathlib import Path
from uuid import uuid4

import pytest

from kds.brain.files import LockedText, PrivateFile
from kds.brain.memory.memory_store import SqliteStore
from kds.brain.store.tenancy import PostgresText, Tenancy, tenant_number
from kds.brain.workspace import Workspace

pytest.register_assert_rewrite(
    *("tests.brain.conformance", "tests.brain.passage_conformance"),
    *("tests.brain.document_conformance", "tests.brain.document_recall_conformance"),
)

from .conformance import HandClock as HandClock  # noqa: E402  # rewritten from here on

NOBODY = 65534

OpenStore = Callable[[], SqliteStore]
Start = Callable[..., subprocess.Popen[str]]
MakeText = Callable[[str], LockedText]


@pytest.fixture
def clock() -> HandClock:
    return HandClock()


@pytest.fixture
def place(tmp_path: Path) -> Workspace:
    """A workspace without settings."""
    (tmp_path / "kds-brain").mkdir()
    return Workspace(tmp_path, tmp_path / "kds-brain")


@pytest.fixture
def users_folder() -> Iterator[Path]:
    """A folder in which permissions count: root lays its powers down for the test."""
    if sys.platform == "win32":
        pytest.skip("permissions are not modes on Windows")
    folder = Path(tempfile.mkdtemp(prefix="kds-user-")).resolve()
    is_root = os.geteuid() == 0
    if is_root:
        os.chown(folder, NOBODY, -1)
        os.seteuid(NOBODY)
    try:
        yield folder
    finally:
        if is_root:
            os.seteuid(0)
        for path in (folder, *(path for path in folder.rglob("*") if path.is_dir())):
            path.chmod(0o700)
        shutil.rmtree(folder)


@pytest.fixture
def start(launchers: Path) -> Start:
    """Start a process that runs a script, with arguments."""

    def started(*arguments: object) -> subprocess.Popen[str]:
        command, pipe = [str(launchers / "python-block"), *map(str, arguments)], subprocess.PIPE
        return subprocess.Popen(command, stdin=pipe, stdout=pipe, stderr=pipe, text=True)

    return started


@pytest.fixture
def memory_path(tmp_path: Path) -> Path:
    folder = tmp_path / "kds-brain"
    folder.mkdir()
    return folder / SqliteStore.file_name


@pytest.fixture
def open_store(memory_path: Path, clock: HandClock) -> Iterator[OpenStore]:
    """Opens the same file as often as one likes; all are closed in the end."""
    opened: list[SqliteStore] = []

    def open_it() -> SqliteStore:
        opened.append(SqliteStore(memory_path, clock=clock))
        return opened[-1]

    yield open_it
    for store in opened:
        store.close()


@pytest.fixture
def store(open_store: OpenStore) -> SqliteStore:
    return open_store()


@pytest.fixture(params=["file", "server"])
def make_text(
    request: pytest.FixtureRequest, tmp_path: Path, clock: HandClock
) -> Callable[[str], LockedText]:
    """Names a text that nobody else has: in a folder, and then on a server."""
    if request.param == "file":
        return lambda name: PrivateFile(tmp_path / name)
    server = request.getfixturevalue("shared_server")
    number = tenant_number(server, ("acme", uuid4().hex, "shop"))
    tenancy = Tenancy(server, number, clock=clock)
    return lambda name: PostgresText(lambda: nullcontext(tenancy), name, server.place)
