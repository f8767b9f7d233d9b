"""Vectors: how they are stored, and searched in memory.

They are of length one, in half precision, little-endian: that changes a cosine by less than 0.001
and halves the file. In memory they have single precision: 100,000 vectors of 384 numbers take 150
MB and some 15 ms a question. What is in memory follows the file: every search asks, in its own
transaction, for the latest vector and the count of deletions, which other processes move too.

Importing this takes numpy's 0.1 s: only stores with vectors do.
"""

import sqlite3
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
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


class VectorSearch:
    """Nearest chunks by the vectors of the database."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._lock = Lock()
        self._held: _Vectors | None = None
        self._generation = database.generation

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
        # The chunk's id decides between equal scores.
        best = np.lexsort((ids, -scores))[:limit]
        return {int(ids[one]): float(scores[one]) for one in best}

    def _all(self, connection: sqlite3.Connection, model: int) -> "_Vectors":
        with self._lock:
            held = self._held
            # Another model was replaced, or soon is; another file stands there.
            if held is None or (held.model, self._generation) != (model, self._database.generation):
                self._generation = self._database.generation
                held = _Vectors(model)
            self._held = held.followed(connection)
            return self._held


@dataclass(frozen=True)
class _Vectors:
    """All vectors of one model, and how far the file was read."""

    model: int
    ids: Array = field(default_factory=lambda: np.empty(0, dtype=np.int64))
    rows: Array = field(default_factory=lambda: np.empty((0, 0), dtype=np.float32))
    state: tuple[int, int] = (0, 0)
    """The latest vector, and the count of deletions."""

    def followed(self, connection: sqlite3.Connection) -> "_Vectors":
        """Return what the file holds by now."""
        state = connection.execute(
            "SELECT (SELECT coalesce(max(num), 0) FROM embedding), "
            "(SELECT value FROM state WHERE key = 'vector_deletions')"
        ).fetchone()
        if state == self.state:
            return self
        held, own = self.ids, self.rows
        if state[1] != self.state[1]:
            query = "SELECT chunk_id FROM embedding WHERE model_num = ?"  # the index has it all
            left = np.isin(held, [row[0] for row in connection.execute(query, (self.model,))])
            held, own = held[left], own[left]
        ids, rows = _read(connection, self.model, "num > ?", self.state[0])
        if len(ids) and len(held):
            stay = ~np.isin(held, ids)  # the others were made again
            ids, rows = np.concatenate((held[stay], ids)), np.concatenate((own[stay], rows))
        elif not len(ids):
            ids, rows = held, own
        return _Vectors(self.model, ids, rows, state)


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
