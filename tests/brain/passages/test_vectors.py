"""Dense search in SQLite against the plain computation."""

import numpy as np
import pytest
from conformance import say
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from kds.brain.memory.memory_store import SqliteStore
from kds.brain.passages import vectors
from kds.brain.passages.vector_blob import unit


@pytest.mark.parametrize("width", [1, 7, 64, 100, 384])
def test_differing_signs_are_counted(width: int, monkeypatch: pytest.MonkeyPatch) -> None:
    generator = np.random.default_rng(1)
    rows = generator.standard_normal((50, width)).astype("<f2")
    asked = generator.standard_normal(width).astype(np.float32)
    expected = ((rows > 0) != (asked > 0)).sum(axis=1)
    bits, word = vectors.signs(rows), vectors.signs(asked[None, :])[:, 0]
    assert (vectors.differing(bits, word) == expected).all()
    monkeypatch.delattr(np, "bitwise_count", raising=False)  # as in numpy 1
    assert (vectors.differing(bits, word) == expected).all()


def test_the_nearest_of_many_are_found() -> None:
    generator = np.random.default_rng(2)
    # A decaying spectrum in no particular direction, as vectors of language have it.
    spectrum = np.arange(1, 129) ** -0.5
    turn = np.linalg.qr(generator.standard_normal((128, 128)))[0]
    made = (generator.standard_normal((8_000, 128)) * spectrum) @ turn
    rows = unit(made.astype(np.float32))
    matrix = vectors.Matrix.of(np.arange(8_000), rows.astype("<f2"))
    found = total = 0
    for asked in rows[:50]:
        exact = np.argsort(-(rows @ asked))[:10]
        found += len({key for _, key in matrix.nearest(asked, 10)} & set(exact.tolist()))
        total += 10
    assert found / total > 0.97


@settings(max_examples=15, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(st.sampled_from(["add", "embed", "delete", "ask", "replace"]), max_size=12))
def test_what_is_in_memory_follows_the_file(
    store: SqliteStore, open_store: type[SqliteStore], steps: list[str]
) -> None:
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
            other.store_embeddings("m", {hits[0].chunk_id: [-1.0, 0.5]})
        kept = store.search_dense([1.0, 0.0], model="m", limit=99)
        fresh = open_store()
        assert kept == fresh.search_dense([1.0, 0.0], model="m", limit=99)
        assert kept == other.search_dense([1.0, 0.0], model="m", limit=99)
        fresh.close()
    other.close()


def test_a_session_is_searched_alike_from_file_and_from_memory(store: SqliteStore) -> None:
    generator = np.random.default_rng(3)
    store.use_model("m")
    sessions = [store.create_session() for _ in range(3)]
    for session in sessions:
        say(store, session, *[f"{session.num} says {n}" for n in range(9)])
    jobs = store.pending_embeddings(99)
    store.store_embeddings("m", {job.chunk_id: generator.standard_normal(8) for job in jobs})
    asked = generator.standard_normal(8)
    within = sessions[1].id
    from_file = store.search_dense(asked, model="m", within=within, limit=5)
    store.search_dense(asked, model="m", limit=5)
    assert store.search_dense(asked, model="m", within=within, limit=5) == from_file
    assert len(from_file) == 5


def test_many_new_vectors_are_joined_to_the_others(
    store: SqliteStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(vectors, "TAIL", 4)
    store.use_model("m")
    session = store.create_session()
    for number in range(12):
        store.append(session.id, "user", f"message {number}")
        (job,) = store.pending_embeddings(9)
        store.store_embeddings("m", {job.chunk_id: [1.0, number]})
        assert len(store.search_dense([1.0, 0.0], model="m", limit=99)) == number + 1
