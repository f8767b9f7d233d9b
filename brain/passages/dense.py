"""Searching by meaning, with whatever embedding model the user has: it may fail in any way.

A failure is no error of the recall: the words are searched all the same, and a note says so.
"""

import math
from dataclasses import dataclass
from time import perf_counter
from typing import Final

from kds.brain.errors import StoreError
from kds.brain.passages.recalled import Log
from kds.brain.passages.store import Embedder, PassageStore
from kds.brain.passages.values import Scored

CANDIDATES: Final = 200
"""Nearest chunks. More than the lexical ones: their neighbours' vectors count too."""


@dataclass(frozen=True, slots=True)
class Vector:
    """The vector of the question and the model that made it."""

    values: tuple[float, ...]
    model: str


@dataclass(frozen=True, slots=True)
class DenseHits:
    """The nearest chunks by cosine.

    ``floor`` is the cosine that none of the others exceeds; None when the others have no vector.
    """

    hits: tuple[Scored, ...] = ()
    floor: float | None = None


def embed_question(embedder: Embedder | None, text: str, log: Log) -> Vector | None:
    """Ask the model for the vector of a question; None, and a note, when it gives none."""
    if embedder is None or not text.strip():
        return None
    started = perf_counter()
    values: tuple[float, ...] = ()
    note = "the embedding model gave no usable vector; words only"
    try:
        values = tuple(map(float, embedder.embed_query(text)))
    except Exception as error:  # noqa: BLE001  # foreign code: an outage must not stop a recall
        note = f"the embedding model failed ({type(error).__name__}: {error}); words only"
    log.timings_ms["embedding"] = (perf_counter() - started) * 1000.0
    if not any(values) or not all(map(math.isfinite, values)):
        log.note(note)
        return None
    return Vector(values, embedder.name)


def search_vectors(
    store: PassageStore,
    vector: Vector | None,
    within: str | None,
    log: Log,
    *,
    limit: int = CANDIDATES,
) -> DenseHits:
    """Collect the nearest passages; a store that cannot is a note, not an error."""
    if vector is None:
        return DenseHits()
    try:
        hits = store.search_dense(vector.values, within, model=vector.model, limit=limit)
    except StoreError as error:
        log.note(f"no search by meaning: {error.message}; words only")
        return DenseHits()
    if not hits:
        log.note(f"no vectors of '{vector.model}' here yet; words only")
    return DenseHits(hits, floor=hits[-1].score if len(hits) >= limit else None)
