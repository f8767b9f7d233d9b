"""Stores with documents. `document_texts` can be imported."""

import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))

from document_texts import GUIDE, LEASE, content_of, source_of

from kds.brain.documents.document_store import DocumentStore
from kds.brain.documents.document_values import Document
from kds.readers.markdown import read_markdown
from kds.readers.plain import read_plain

Put = Callable[..., Document]


@pytest.fixture
def store_path(tmp_path: Path) -> Path:
    folder = tmp_path / "kds-brain"
    folder.mkdir()
    return folder / DocumentStore.file_name


@pytest.fixture
def store(store_path: Path) -> Iterator[DocumentStore]:
    with DocumentStore(store_path) as opened:
        yield opened


@pytest.fixture
def put(store: DocumentStore) -> Put:
    """Store sections: ``put("/x/a.txt", ("1 Heading", ["Paragraph."]))``."""

    def put_it(path: str, *sections: tuple[str, list[str]], title: str = "") -> Document:
        content = content_of(title or Path(path).stem, *sections)
        return store.put(content, source_of(repr(sections), path))

    return put_it


@pytest.fixture
def library(store: DocumentStore) -> DocumentStore:
    """The store with the lease and the guide."""
    store.put(read_plain(LEASE, "lease"), source_of(LEASE, "/shelf/lease.txt"))
    store.put(read_markdown(GUIDE, "guide"), source_of(GUIDE, "/shelf/guide.md"))
    return store
