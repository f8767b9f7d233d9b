"""Stores to test with. `conformance` can be imported: every implementation's tests share it."""

import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))
pytest.register_assert_rewrite("conformance")

from conformance import HandClock  # noqa: E402  # needs the path

from kds.brain.memory.sqlite_store import FILE_NAME, SqliteStore  # noqa: E402

OpenStore = Callable[[], SqliteStore]


@pytest.fixture
def clock() -> HandClock:
    return HandClock()


@pytest.fixture
def memory_path(tmp_path: Path) -> Path:
    folder = tmp_path / "kds-brain"
    folder.mkdir()
    return folder / FILE_NAME


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
