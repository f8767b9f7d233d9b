"""A memory and passages on a server keep what every store of them promises."""

from collections.abc import Callable

import pytest

from kds.brain.documents.postgres_documents import PostgresDocuments
from kds.brain.memory.memory_store import PostgresStore

from ...conformance import HandClock, StoreConformance
from ...passage_conformance import DocumentShelf, MessageShelf, PassageConformance, Shelf


class TestPostgresStore(StoreConformance):
    """The whole suite, for the server."""


class TestMessages(PassageConformance):
    """The whole suite, for messages on a server."""

    @pytest.fixture
    def shelf(self, store: PostgresStore) -> Shelf:
        return MessageShelf(store)


class TestDocuments(PassageConformance):
    """The whole suite, for documents on a server."""

    @pytest.fixture
    def shelf(self, open_documents: Callable[..., PostgresDocuments], clock: HandClock) -> Shelf:
        return DocumentShelf(open_documents(), clock)
