"""Embedding models by name."""

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from kds.api.embeddings import EmbeddingsError, embed_waiting, load_embedder
from kds.brain.memory.memory_store import SqliteStore

MODEL = """
class Small:
    def embed_documents(self, texts): return [self.embed_query(text) for text in texts]
    def embed_query(self, text): return (len(text), 1)

class Down(Small):
    def embed_documents(self, texts): raise ConnectionError("no route to host")

class NeedsMore(Small):
    def __init__(self, key): pass

small = 3
"""


@pytest.fixture(autouse=True)
def _models(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "own_models.py").write_text(MODEL)
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.delitem(sys.modules, "own_models", raising=False)


@pytest.fixture
def store(tmp_path: Path) -> Iterator[SqliteStore]:
    made = SqliteStore(tmp_path / "memory.db")
    made.create_session(session_id="s")
    for text in ("one", "three"):
        made.append("s", "user", text)
    yield made
    made.close()


@pytest.mark.parametrize(
    ("name", "reason"),
    [
        ("small", "unknown embedding model"),
        (":Small", "unknown embedding model"),
        ("no_such_module:Small", "cannot be loaded"),
        ("own_models:Large", "cannot be loaded"),
        ("own_models:NeedsMore", "cannot be loaded"),
        ("own_models:small", "has no embed_documents"),
    ],
)
def test_anything_but_a_model_is_refused(name: str, reason: str) -> None:
    with pytest.raises(EmbeddingsError, match=reason):
        load_embedder(name)


def test_everything_that_waits_is_embedded(store: SqliteStore) -> None:
    told: list[tuple[str, int, int]] = []
    embedder = load_embedder("own_models:Small")
    done = embed_waiting(store, embedder, tell=lambda *progress: told.append(progress))
    assert done == 2
    assert told == [("embedding", 2, 2)]
    assert len(store.search_dense([1.0, 1.0], model=embedder.name, limit=5)) == 2
    assert embed_waiting(store, embedder) == 0


def test_a_model_that_fails_leaves_its_jobs_queued(store: SqliteStore) -> None:
    with pytest.raises(EmbeddingsError, match="no route to host"):
        embed_waiting(store, load_embedder("own_models:Down"))
    assert store.models()[0].waiting == 2
