"""The memory on a server does what every memory does."""

import pytest
from conformance import StoreConformance, say

from kds.brain.documents.recall import COLUMN_WEIGHTS
from kds.brain.memory.postgres_store import PostgresStore
from kds.brain.passages import postgres_passages as search


class TestPostgresStore(StoreConformance):
    """The whole suite, for the server."""


def test_a_question_of_common_words_alone_is_ranked_among_the_newest(
    store: PostgresStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    def found() -> object:
        return store.search_words(["button", "rare"], limit=5, weights=COLUMN_WEIGHTS)

    for number in range(5):
        session = store.create_session()
        for _ in range(3):
            say(store, session, f"a blue button {number}")
    say(store, store.create_session(), "a rare button")
    among_all = found()
    monkeypatch.setattr(search, "TOO_MANY", 0)
    assert found() == among_all
    assert among_all
