"""Vectors: how they are stored, and searched in memory.

They are of length one, in half precision, little-endian: that changes a cosine by less than 0.001
and halves the file. In memory they have single precision: 100,000 vectors of 384 numbers take 150
MB and some 25 ms a question. What is in memory follows the file: every search asks, in its own
transaction, for the latest vector and how many there are, which other processes change too.

Importing this takes numpy's 0.1 s: only stores with vectors do.
"""

import sqlite3
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from threading import Lock
from typing import Any, Final, TypeVar

import numpy as np

from kds.brain.errors import StoreError
from kds.brain.passages.store import range_of, searched_model, session_number
from kds.brain.passages.values import Scores
from kds.brain.store.sqlite import Database

Array = np.ndarray[Any, Any]
Key = TypeVar("Key", int, str)

FORMAT: Final = "<f2"


def to_blobs(
    vectors: Mapping[Key, Sequence[float]], *, where: str
) -> tuple[int | None, dict[Key, bytes]]:
    """Return the common length of the vectors (None: there are none) and their bytes.

    Raises StoreError when they differ in length or hold anything but numbers.
    """
    if not vectors:
        return None, {}
    hint = "see what the embedding model returns"
    try:
        matrix = np.asarray(list(vectors.values()), dtype=np.float32)
    except (ValueError, TypeError) as error:
        said = "the vectors are not lists of numbers of one length"
        raise StoreError(said, where=where, hint=hint) from error
    if matrix.ndim != 2 or not matrix.shape[1]:
        raise StoreError("the vectors are empty", where=where, hint=hint)
    if not np.isfinite(matrix).all():
        raise StoreError("a vector holds something other than numbers", where=where, hint=hint)
    rows = unit(matrix).astype(FORMAT)
    return matrix.shape[1], {key: row.tobytes() for key, row in zip(vectors, rows, strict=True)}


def from_blob(blob: bytes) -> Array:
    """Return the vector that was kept as these bytes."""
    return np.frombuffer(blob, dtype=FORMAT)


def unit(matrix: Array) -> Array:
    """Scale each row to length one; a row of zeros stays."""
    largest = np.abs(matrix).max(axis=-1, keepdims=True)
    scaled: Array = matrix / np.where(largest > 0, largest, 1)  # so that squares do not overflow
    length = np.linalg.norm(scaled, axis=-1, keepdims=True)
    scaled /= np.where(length > 0, length, 1)
    return scaled


@dataclass(frozen=True)
class _Vectors:
    """The vectors of one model, as they were read."""

    ids: Array
    rows: Array
    state: tuple[int, int, int, int]
    """The model, the file, its latest vector, and how many there are of all models."""


_NOTHING: Final = _Vectors(
    np.empty(0, dtype=np.int64), np.empty((0, 0), dtype=np.float32), (0, 0, 0, 0)
)


class VectorSearch:
    """Nearest chunks by the vectors of the database."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._lock = Lock()
        self._held = _NOTHING

    def search(
        self, vector: Sequence[float], within: str | None, *, model: str, limit: int
    ) -> Scores:
        """Rank chunks by cosine; a model without vectors finds nothing."""
        asked = unit(np.asarray(vector, dtype=np.float32)[None, :])[0]
        place = self._database.place
        with self._database.read() as connection:
            number = searched_model(connection, model, len(asked), place)
            if number is None or limit < 1:
                return {}
            if within is None:
                held = self._all(connection, number)
                ids, rows = held.ids, held.rows
            else:
                own = range_of(session_number(connection, within, place))
                ids, rows = _read(connection, number, "chunk_id BETWEEN ? AND ?", *own)
        if not len(ids):
            return {}
        scores = rows @ asked
        least = np.partition(scores, -limit)[-limit] if limit < len(scores) else scores.min()
        near = np.flatnonzero(scores >= least)
        # The chunk's id decides between equal scores.
        best = near[np.lexsort((ids[near], -scores[near]))][:limit]
        return {int(ids[one]): float(scores[one]) for one in best}

    def _all(self, connection: sqlite3.Connection, model: int) -> _Vectors:
        """Return what the file holds by now: what was added is read, after a deletion all of it."""
        query = (
            "SELECT (SELECT coalesce(max(num), 0) FROM embedding), "
            "(SELECT count(*) FROM embedding), (SELECT count(*) FROM embedding WHERE num > ?)"
        )
        with self._lock:
            held = self._held
            latest, count, added = connection.execute(query, (held.state[2],)).fetchone()
            state = (model, self._database.generation, latest, count)
            if held.state != state:
                if held.state[:2] != state[:2] or held.state[3] + added != count:
                    held = _NOTHING
                ids, rows = _read(connection, model, "num > ?", held.state[2])
                if len(held.ids):
                    ids = np.concatenate((held.ids, ids))
                    rows = np.concatenate((held.rows, rows)) if len(rows) else held.rows
                self._held = _Vectors(ids, rows, state)
            return self._held


def _read(
    connection: sqlite3.Connection, model: int, which: str, *values: int
) -> tuple[Array, Array]:
    query = f"SELECT chunk_id, f16 FROM embedding WHERE {which} AND model_num = ?"
    ids: list[int] = []
    data = bytearray()
    for chunk_id, blob in connection.execute(query, (*values, model)):
        ids.append(chunk_id)
        data += blob
    width = len(data) // (2 * len(ids)) if ids else 0
    rows = np.frombuffer(data, dtype=FORMAT).reshape(len(ids), width)
    return np.array(ids, dtype=np.int64), rows.astype(np.float32)
