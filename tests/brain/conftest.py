"""A clock to set by hand, and folders as an ordinary user sees them."""

import os
import shutil
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

NOBODY = 65534


@dataclass
class HandClock:
    """A clock that stands still until it is moved."""

    now: datetime = datetime(2025, 11, 3, 9, 0, tzinfo=UTC)

    def __call__(self) -> datetime:
        return self.now

    def move(self, **span: float) -> None:
        self.now += timedelta(**span)


@pytest.fixture
def clock() -> HandClock:
    return HandClock()


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
