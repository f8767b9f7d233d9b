"""Searching vectors: all of them compared, none left out, no index to keep.

The signs of a vector, one bit a number, are compared first (a count of differing bits); the
cosine is worked out for the nearest of these only. 100k vectors of 384 numbers take 80 MB of
memory and some milliseconds a question.

What is in memory follows the file: every search asks, in its own transaction, for the latest
vector and the count of deletions, which other processes move too.

Imported by who has vectors only: numpy takes 0.1 s.
"""

import sqlite3
from collections.abc import Sequence
from threading import Lock
from typing import Any, Final

import numpy as np

from kds.brain.passages.outbox import searched_model
from kds.brain.passages.passage_schema import CHUNK_BITS, range_of
from kds.brain.passages.rows import session_number
from kds.brain.passages.values import Scored
from kds.brain.passages.vector_blob import FORMAT, unit
from kds.brain.store.sqlite import Database

Array = np.ndarray[Any, Any]

CANDIDATES: Final = 3000
"""Vectors whose cosine is worked out after the comparison of signs. Of 100k made-up ones with a
decaying spectrum, as those of language have, 99.6 % of the ten nearest are among them (2000:
99.1 %, 1000: 97.6 %)."""

BLOCK: Final = 1000
"""Rows multiplied at once: from some 1,200 on the library sets threads to work, which costs 4 ms
of CPU to save half a millisecond."""

SMALL_RANGE: Final = 1000
"""Chunks of a session up to which its vectors are read from the file for each question, as long
as nobody has asked for all: so many are read in 7 ms, all of 100k in 230 ms."""

TAIL: Final = 4096
"""New vectors are kept apart up to this number, then joined to the others: joining copies."""


class Matrix:
    """Vectors in memory, in the order of their chunks' ids.

    ``bits`` has a row for each 64 numbers of a vector and a column for each vector: counting
    goes along rows.
    """

    def __init__(self, ids: Array, rows: Array, bits: Array) -> None:
        self.ids = ids
        self.rows = rows
        self.bits = bits

    @classmethod
    def of(cls, ids: Array, rows: Array) -> "Matrix":
        """Put vectors in order."""
        if (ids[1:] <= ids[:-1]).any():
            order = np.argsort(ids, kind="stable")
            ids, rows = ids[order], rows[order]
        return cls(ids, rows, signs(rows))

    def joined(self, other: "Matrix") -> "Matrix":
        """Return both; where both have a chunk, the other's vector holds."""
        kept = ~np.isin(self.ids, other.ids)
        return Matrix.of(
            np.concatenate([self.ids[kept], other.ids]),
            np.concatenate([self.rows[kept], other.rows]),
        )

    def where(self, kept: Array | slice) -> "Matrix":
        """Return the vectors that a mask keeps; those of a slice are not copied."""
        return Matrix(self.ids[kept], self.rows[kept], self.bits[:, kept])

    def between(self, first: int, last: int) -> "Matrix":
        """Return the vectors of the chunks ``first`` to ``last``."""
        start, stop = np.searchsorted(self.ids, [first, last + 1])
        return self.where(slice(start, stop))

    def nearest(self, vector: Array, limit: int) -> list[tuple[float, int]]:
        """Return (cosine, chunk id) of the nearest to a vector of length one."""
        chosen: Array | slice = slice(None)
        candidates = max(CANDIDATES, 4 * limit)
        if len(self.ids) > 2 * candidates:
            apart = differing(self.bits, signs(vector[None, :])[:, 0])
            chosen = np.argpartition(apart, candidates)[:candidates]
        rows = self.rows[chosen]
        scores = np.concatenate(
            [
                rows[at : at + BLOCK].astype(np.float32) @ vector
                for at in range(0, max(len(rows), 1), BLOCK)
            ]
        )
        ids = self.ids[chosen]
        best = np.argsort(-scores, kind="stable")[:limit]
        return [(float(scores[index]), int(ids[index])) for index in best]


class VectorSearch:
    """Nearest chunks by the vectors of the database."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._lock = Lock()
        self._cache: dict[int, _Cached] = {}
        self._generation = database.generation

    def search(
        self, vector: Sequence[float], within: str | None, *, model: str, limit: int
    ) -> tuple[Scored, ...]:
        """Rank chunks; a model without vectors finds nothing."""
        asked = unit(np.asarray(vector, dtype=np.float32)[None, :])[0]
        with self._database.read() as connection:
            number = searched_model(connection, model, len(asked), self._database.place)
            if number is None or limit < 1:
                return ()
            parts = self._parts(connection, number, len(asked), within)
        found = sorted(
            (hit for part in parts for hit in part.nearest(asked, limit)),
            key=lambda hit: (-hit[0], hit[1]),
        )
        return tuple(Scored(chunk_id, score) for score, chunk_id in found[:limit])

    def _parts(
        self, connection: sqlite3.Connection, model: int, width: int, session_id: str | None
    ) -> list[Matrix]:
        if session_id is None:
            return self._all(connection, model, width)
        number = session_number(connection, session_id, self._database.place)
        first, last = range_of(number)
        query = "SELECT chunk_count FROM session WHERE num = ?"
        count = connection.execute(query, (number,)).fetchone()[0]
        if model not in self._cache and count <= SMALL_RANGE:
            return [_read(connection, model, width, "chunk_id BETWEEN ? AND ?", first, last)]
        return [part.between(first, last) for part in self._all(connection, model, width)]

    def _all(self, connection: sqlite3.Connection, model: int, width: int) -> list[Matrix]:
        with self._lock:
            if self._generation != self._database.generation:
                self._cache.clear()
                self._generation = self._database.generation
            cached = self._cache.get(model)
            if cached is None:
                self._cache.clear()  # another model's vectors: it was replaced, or soon is
                cached = self._cache[model] = _Cached(connection, model, width)
            else:
                cached.follow(connection)
            return cached.parts()


class _Cached:
    """All vectors of one model, and how far the file was read."""

    def __init__(self, connection: sqlite3.Connection, model: int, width: int) -> None:
        self._model = model
        self._width = width
        self._seen, self._deletions = _state(connection)
        self._base = _read(connection, model, width, "num > ?", 0)
        self._tail: Matrix | None = None

    def parts(self) -> list[Matrix]:
        return [self._base, self._tail] if self._tail else [self._base]

    def follow(self, connection: sqlite3.Connection) -> None:
        """Take over what changed in the file since."""
        latest, deletions = _state(connection)
        if latest > self._seen:
            new = _read(connection, self._model, self._width, "num > ?", self._seen)
            tail = self._tail.joined(new) if self._tail else new
            if len(tail.ids) > TAIL or np.isin(tail.ids, self._base.ids).any():
                self._base, self._tail = self._base.joined(tail), None
            else:
                self._tail = tail
        if deletions != self._deletions:
            sessions = np.array(
                [row[0] for row in connection.execute("SELECT num FROM session")], dtype=np.int64
            )
            parts = [part.where(np.isin(part.ids >> CHUNK_BITS, sessions)) for part in self.parts()]
            self._base, self._tail = parts[0], parts[1] if len(parts) > 1 else None
        self._seen, self._deletions = latest, deletions


def signs(rows: Array) -> Array:
    """Return the signs of each row as a column of words of 64 bits."""
    # Half-precision numbers compare like integers with zero, and integers do it much faster.
    positive = rows.view(np.int16) > 0 if rows.dtype == FORMAT else rows > 0
    packed = np.packbits(positive, axis=1)
    padding = -packed.shape[1] % 8
    padded = np.ascontiguousarray(np.pad(packed, ((0, 0), (0, padding))))
    return np.ascontiguousarray(padded.view(np.uint64).T)


def differing(bits: Array, asked: Array) -> Array:
    """Count in how many signs each column differs from the one asked for."""
    counts = np.zeros(bits.shape[1], dtype=np.uint16)
    for row, word in zip(bits, asked, strict=True):
        counts += _bit_count(row ^ word)
    return counts


def _bit_count(words: Array) -> Array:
    if hasattr(np, "bitwise_count"):  # numpy 2
        return np.bitwise_count(words)
    table = np.array([number.bit_count() for number in range(256)], dtype=np.uint8)
    counts: Array = table[words.view(np.uint8)].reshape(-1, 8).sum(axis=1, dtype=np.uint8)
    return counts


def _state(connection: sqlite3.Connection) -> tuple[int, int]:
    row = connection.execute(
        "SELECT (SELECT max(num) FROM embedding), "
        "(SELECT value FROM state WHERE key = 'vector_deletions')"
    ).fetchone()
    return row[0] or 0, row[1]


def _read(
    connection: sqlite3.Connection, model: int, width: int, which: str, *values: int
) -> Matrix:
    query = f"SELECT chunk_id, f16 FROM embedding WHERE {which} AND model_num = ?"
    ids: list[int] = []
    data = bytearray()
    for chunk_id, blob in connection.execute(query, (*values, model)):
        ids.append(chunk_id)
        data += blob
    rows = np.frombuffer(data, dtype=FORMAT).reshape(len(ids), width)
    return Matrix.of(np.array(ids, dtype=np.int64), rows)
