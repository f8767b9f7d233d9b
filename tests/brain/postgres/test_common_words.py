"""Of a large memory the counts of common words are estimated once, for every service.

A passage is found by the words of the messages before it, too: it counts for these.
"""

from collections.abc import Callable

import pytest

from kds.brain.passages.lexical import COLUMN_WEIGHTS
from kds.brain.postgres import common_words, full_text
from kds.brain.postgres.postgres_store import PostgresStore

OpenStore = Callable[..., PostgresStore]


@pytest.fixture(autouse=True)
def _small(monkeypatch: pytest.MonkeyPatch) -> None:
    """Have twenty passages be a large memory."""
    monkeypatch.setattr(common_words, "SAMPLE", 20)
    monkeypatch.setattr(common_words, "LEAST", 5)


def say(store: PostgresStore, session: str, *texts: str) -> None:
    for text in texts:
        store.append(session, "user", text)


@pytest.fixture
def large(store: PostgresStore) -> PostgresStore:
    store.create_session(session_id="one")
    say(store, "one", *["the button is blue"] * 20, "a rare colour")
    store.measure()
    return store


def rows(store: PostgresStore) -> int:
    with store.database.read() as connection:
        return int(connection.execute("SELECT count(*) FROM common_word").fetchone()[0])


def test_common_words_are_not_counted_again(large: PostgresStore, open_store: OpenStore) -> None:
    say(large, "one", "one more button")
    for service in (large, open_store()):
        service.measure()
        assert service.document_frequencies(["button", "rare"]) == {"button": 20, "rare": 1}


def test_a_sample_stands_for_the_whole(store: PostgresStore) -> None:
    for number in range(40):
        store.create_session(session_id=f"s{number}")
        say(store, f"s{number}", "blue button" if number % 4 < 2 else "green field")
    store.measure()
    with store.database.read() as connection:
        found = connection.execute("SELECT passages FROM common_word ORDER BY 1").fetchall()
    assert found == [(20,), (20,), (20,), (20,), (40,)]
    assert store.document_frequencies(["button", "field"]) == {"button": 20, "field": 20}


def test_a_memory_that_has_grown_is_estimated_anew(large: PostgresStore) -> None:
    say(large, "one", *["one more button"] * 6)
    large.measure()
    assert large.document_frequencies(["button"]) == {"button": 26}


def test_a_memory_that_has_shrunk_is_counted(large: PostgresStore) -> None:
    large.delete_session("one")
    large.create_session(session_id="two")
    say(large, "two", "a button")
    large.measure()
    assert large.document_frequencies(["button"]) == {"button": 1}
    assert rows(large) == 0


def test_the_estimates_keep_no_word(large: PostgresStore) -> None:
    with large.database.read() as connection:
        stored = str(connection.execute("SELECT word, passages FROM common_word").fetchall())
    assert "button" not in stored
    assert "blue" not in stored


def test_a_question_of_common_words_alone_is_ranked_as_others_are(
    large: PostgresStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    def found() -> object:
        return large.search_words(["button", "rare"], limit=5, weights=COLUMN_WEIGHTS)

    among_all = found()
    monkeypatch.setattr(full_text, "TOO_MANY", 0)
    among_the_newest = found()
    assert among_the_newest == among_all
    assert among_all
