"""Passages of messages on a server keep what every store of passages promises."""

import pytest
from passage_conformance import MessageShelf, PassageConformance, Shelf

from kds.brain.postgres.postgres_store import PostgresStore


class TestMessages(PassageConformance):
    """The whole suite, for messages on a server."""

    @pytest.fixture
    def shelf(self, store: PostgresStore) -> Shelf:
        return MessageShelf(store)
