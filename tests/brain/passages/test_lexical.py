"""Collecting candidates, and the searches of the store that this needs."""

from kds.brain.memory.memory_store import SqliteStore
from kds.brain.passages.question import read_question
from kds.brain.passages.recall import search_words


def _fill(store: SqliteStore) -> list[int]:
    for session in ("a", "b"):
        store.create_session(session_id=session)
        for number, text in enumerate(("I went home.", "Which port?", "It is 8081, the port.")):
            store.append(session, "user", text, message_id=f"{session}{number}", speaker="Ann")
    number = store.session("a").num
    return [(number << 24) + n for n in (1, 2, 3)]


def test_candidates_of_a_session_come_from_that_session(store: SqliteStore) -> None:
    ids = _fill(store)
    found = search_words(store, read_question("the port"), "a").hits
    assert {hit.chunk_id for hit in found} >= set(ids[1:])
    assert all(hit.chunk_id >> 24 == ids[0] >> 24 for hit in found)


def test_candidates_of_everywhere_come_from_every_session(store: SqliteStore) -> None:
    _fill(store)
    found = search_words(store, read_question("the port"), None).hits
    assert len({hit.chunk_id >> 24 for hit in found}) == 2


def test_other_forms_of_a_word_are_found(store: SqliteStore) -> None:
    ids = _fill(store)
    found = search_words(store, read_question("When did I go?"), "a")
    assert found.hits[0].chunk_id == ids[0]


def test_words_that_nobody_said_find_nothing(store: SqliteStore) -> None:
    _fill(store)
    for within in ("a", None):
        assert search_words(store, read_question("zebra"), within).hits == ()
        assert search_words(store, read_question(""), within).hits == ()


def test_passages_tell_who_said_what_when(store: SqliteStore) -> None:
    ids = _fill(store)
    first, second = store.passages([ids[2], 99, ids[0]])
    assert (first.body, second.body) == ("It is 8081, the port.", "I went home.")
    assert (first.speaker, first.role, first.session_id) == ("Ann", "user", "a")
    assert first.at == store.message("a2").at
    assert store.passages([]) == ()


def test_occurrences_leave_out_what_only_the_context_has(store: SqliteStore) -> None:
    ids = _fill(store)
    gone, port, none = store.occurrences([("go", "went"), ("port",), ()], "a", limit=10)
    assert list(gone) == [ids[0]]
    assert set(port) == {ids[1], ids[2]}
    assert none == {}
    assert set(store.occurrences([("port",)], "a", limit=1)[0]) == {ids[2]}
