"""Searching by meaning, with whatever embedding model the user has: it may fail in any way.

A failure is no error of the recall: the words are searched all the same, and a note says so.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from time import perf_counter
from typing import Final

from kds.brain.errors import StoreError
from kds.brain.passages.store import Embedder, SearchStore
from kds.brain.passages.values import Chunk, Scope, Scored

CANDIDATES: Final = 200
"""Nearest chunks. More than the lexical ones: their neighbours' vectors count too."""


@dataclass(frozen=True, slots=True)
class QueryVector:
    """The vector of a question, or why there is none; ``ms`` is what the model took."""

    values: tuple[float, ...] | None
    note: str | None
    ms: float


@dataclass(frozen=True, slots=True)
class DenseHits:
    """The nearest chunks by cosine.

    ``floor`` is the cosine that none of the others exceeds; None when the others have no vector.
    """

    hits: tuple[Scored, ...] = ()
    floor: float | None = None
    note: str | None = None


def chunk_text(chunk: Chunk) -> str:
    """Return what a model is given of a chunk: its heading, or the name of the code, and itself."""
    return f"{chunk.header}\n{chunk.body}" if chunk.header else chunk.body


def embed_question(embedder: Embedder, text: str) -> QueryVector:
    """Ask the model for the vector of a question."""
    started = perf_counter()
    try:
        values = tuple(map(float, embedder.embed_query(text)))
    except Exception as error:  # noqa: BLE001  # foreign code: an outage must not stop a recall
        note = f"the embedding model failed ({type(error).__name__}: {error}); words only"
        return QueryVector(None, note, _ms(started))
    if not values or not all(map(math.isfinite, values)) or not any(values):
        note = "the embedding model gave no usable vector; words only"
        return QueryVector(None, note, _ms(started))
    return QueryVector(values, None, _ms(started))


def search_vectors(
    store: SearchStore,
    vector: Sequence[float],
    scope: Scope,
    *,
    model: str,
    limit: int = CANDIDATES,
) -> DenseHits:
    """Collect the nearest chunks; a store that cannot is a note, not an error."""
    try:
        hits = store.search_dense(vector, model=model, scope=scope, limit=limit)
    except StoreError as error:
        return DenseHits(note=f"no search by meaning: {error.message}; words only")
    if not hits:
        return DenseHits(note=f"no vectors of '{model}' here yet; words only")
    return DenseHits(hits, floor=hits[-1].score if len(hits) >= limit else None)


def _ms(started: float) -> float:
    return (perf_counter() - started) * 1000.0
