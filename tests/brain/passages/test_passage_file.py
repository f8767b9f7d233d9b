"""Passages of messages and of documents in SQLite keep what every store of passages promises."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from kds.brain.documents.store import DocumentStore
from kds.brain.memory.memory_store import SqliteStore

from ..conformance import HandClock
from ..passage_conformance import DocumentShelf, MessageShelf, PassageConformance


class TestMessages(PassageConformance):
    @pytest.fixture
    def shelf(self, store: SqliteStore) -> MessageShelf:
        return MessageShelf(store)


class TestDocuments(PassageConformance):
    @pytest.fixture
    def shelf(self, tmp_path: Path, clock: HandClock) -> Iterator[DocumentShelf]:
        with DocumentStore(tmp_path / "documents.db", clock=clock) as store:
            yield DocumentShelf(store, clock)
