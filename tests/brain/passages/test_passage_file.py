"""Passages of messages and of documents in SQLite keep what every store of passages promises."""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
from conformance import HandClock
from passage_conformance import MessageShelf, PassageConformance, Shelf

from kds.brain.documents.content import Block, Content, Part, Source
from kds.brain.documents.document_store import DocumentStore
from kds.brain.documents.drafting import document_id
from kds.brain.documents.heading import read_heading
from kds.brain.passages.values import Scored
from kds.brain.sessions.sqlite_store import SqliteStore


@dataclass
class DocumentShelf(Shelf):
    store: DocumentStore
    clock: HandClock

    def add(self, place: str, *texts: str) -> None:
        parts = tuple(
            Part(read_heading(f"{at} Part", 1), (Block(text),)) for at, text in enumerate(texts)
        )
        source = Source(f"/{place}", 1, self.clock.now, "0" * 64)
        self.store.put(Content(place, "text", parts), source)

    def remove(self, place: str) -> None:
        self.store.remove([place])

    def id_of(self, place: str) -> str:
        return document_id(f"/{place}")

    def bodies(self, found: tuple[Scored, ...]) -> list[str]:
        return [one.text for one in self.store.passages([hit.chunk_id for hit in found])]


class TestMessages(PassageConformance):
    @pytest.fixture
    def shelf(self, store: SqliteStore) -> MessageShelf:
        return MessageShelf(store)


class TestDocuments(PassageConformance):
    @pytest.fixture
    def shelf(self, tmp_path: Path, clock: HandClock) -> Iterator[DocumentShelf]:
        with DocumentStore(tmp_path / "documents.db", clock=clock) as store:
            yield DocumentShelf(store, clock)
