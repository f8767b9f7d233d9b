"""The SQLite store does what every store must, and what follows from being one file."""

from kds.brain.memory.memory_store import SqliteStore

from ..conformance import CODE, HandClock, StoreConformance, by_text, say
from ..conftest import OpenStore


class TestSqliteStore(StoreConformance):
    """The whole suite, for the file."""


def test_everything_is_there_after_a_restart(open_store: OpenStore, clock: HandClock) -> None:
    store = open_store()
    session = store.create_session(document_context="spec.md")
    say(store, session, "Add a walrus", CODE, "émoji 🎉")
    store.add_summary(session.id, 1, 2, "a walrus", kind="rolling")

    def held(store: SqliteStore) -> tuple[object, ...]:
        found = by_text(store, "walrus", limit=9)
        said = store.messages(session.id), store.summaries(session.id)
        return store.sessions(), *said, found, store.stats().tokens

    before = held(store)
    store.close()
    clock.move(days=1)
    store = open_store()
    assert held(store) == before
    assert store.append(session.id, "user", "again").seq == 4
