"""A store, and a folder of files."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from kds.brain.documents.store import DocumentStore


@pytest.fixture
def store(tmp_path: Path) -> Iterator[DocumentStore]:
    folder = tmp_path / "kds-brain"
    folder.mkdir()
    with DocumentStore(folder / "documents.db") as opened:
        yield opened


@pytest.fixture
def shelf(tmp_path: Path) -> Path:
    """An empty folder for files."""
    folder = tmp_path / "shelf"
    folder.mkdir()
    return folder
