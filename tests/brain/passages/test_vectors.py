"""Dense search in SQLite against the plain computation."""

from random import Random

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from kds.brain.memory.memory_store import SqliteStore

from ..conformance import say
from ..conftest import OpenStore


def drawn(dice: Random, size: int) -> list[float]:
    return [dice.gauss() for _ in range(size)]


@settings(max_examples=15, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(st.sampled_from(["add", "embed", "delete", "ask", "replace"]), max_size=12))
def test_memory_follows_files(store: SqliteStore, open_store: OpenStore, steps: list[str]) -> None:
    other = open_store()
    store.use_model("m")
    for number, step in enumerate(steps):
        if step == "add":
            say(store, store.create_session(), f"one {number}", f"two {number}")
        elif step == "embed":
            jobs = other.pending_embeddings(3)
            other.store_embeddings("m", {job.chunk_id: [1.0, number] for job in jobs})
        elif step == "delete" and (sessions := store.sessions(limit=1)):
            other.delete_session(sessions[0].id)
        elif step == "replace" and (hits := store.search_dense([1.0, 0.0], model="m", limit=1)):
            other.store_embeddings("m", {next(iter(hits)): [-1.0, 0.5]})
        fresh = open_store()
        kept, *others = (
            [*one.search_dense([1.0, 0.0], model="m", limit=99).items()]
            for one in (store, fresh, other)
        )
        assert others == [kept, kept]
        fresh.close()
    other.close()


def test_the_nearest_of_many_is_found(store: SqliteStore) -> None:
    dice = Random(3)
    store.use_model("m")
    say(store, store.create_session(), *[f"message {n}" for n in range(90)])
    vectors = {job.chunk_id: drawn(dice, 64) for job in store.pending_embeddings(99)}
    store.store_embeddings("m", vectors)
    for one, vector in vectors.items():
        assert [*store.search_dense(vector, model="m", limit=1)] == [one]
