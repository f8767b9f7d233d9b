"""Stores of documents in a file."""

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from kds.brain.documents.store import DocumentStore

from ..document_texts import Put, putting


@pytest.fixture
def store_path(tmp_path: Path) -> Path:
    folder = tmp_path / "kds-brain"
    folder.mkdir()
    return folder / DocumentStore.file_name


@pytest.fixture
def open_documents(store_path: Path) -> Iterator[Callable[[], DocumentStore]]:
    """Opens the same file as often as one likes; all are closed in the end."""
    opened: list[DocumentStore] = []

    def open_it() -> DocumentStore:
        opened.append(DocumentStore(store_path))
        return opened[-1]

    yield open_it
    for store in opened:
        store.close()


@pytest.fixture
def store(open_documents: Callable[[], DocumentStore]) -> DocumentStore:
    return open_documents()


@pytest.fixture
def put(store: DocumentStore) -> Put:
    return putting(store)
