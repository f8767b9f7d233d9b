"""The SQLite store does what every store must, and what follows from being one file."""

from collections.abc import Callable

from conformance import CODE, HandClock, StoreConformance, by_text, say

from kds.brain.memory.memory_store import SqliteStore

OpenStore = Callable[[], SqliteStore]


class TestSqliteStore(StoreConformance):
    """The whole suite, for the file."""


def test_everything_is_there_after_a_restart(open_store: OpenStore, clock: HandClock) -> None:
    store = open_store()
    session = store.create_session(document_context="spec.md")
    say(store, session, "Add a walrus", CODE, "émoji 🎉")
    store.add_summary(session.id, 1, 2, "a walrus", kind="rolling")
    before = (
        store.sessions(),
        store.messages(session.id),
        store.summaries(session.id),
        by_text(store, "walrus", limit=9),
        store.stats().tokens,
    )
    store.close()
    clock.move(days=1)
    store = open_store()
    assert before == (
        store.sessions(),
        store.messages(session.id),
        store.summaries(session.id),
        by_text(store, "walrus", limit=9),
        store.stats().tokens,
    )
    assert store.append(session.id, "user", "again").seq == 4


def test_two_stores_on_one_file_see_what_the_other_writes(open_store: OpenStore) -> None:
    here, there = open_store(), open_store()
    session = here.create_session()
    here.use_model("m")
    say(here, session, "one", "two")
    jobs = there.pending_embeddings(1)
    assert len(here.pending_embeddings(9)) == 1
    there.store_embeddings("m", {job.chunk_id: [1.0, 0.0] for job in jobs})
    assert len(here.search_dense([1.0, 0.0], model="m", limit=9)) == 1
    other = there.create_session()
    say(there, other, "three")
    there.store_embeddings("m", {job.chunk_id: [1.0, 0.0] for job in there.pending_embeddings(9)})
    assert len(here.search_dense([1.0, 0.0], model="m", limit=9)) == 2
    there.delete_session(other.id)
    assert len(here.search_dense([1.0, 0.0], model="m", limit=9)) == 1
    assert len(here.search_dense([1.0, 0.0], model="m", within=session.id, limit=9)) == 1
