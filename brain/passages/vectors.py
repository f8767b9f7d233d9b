"""Searching vectors: all of them are compared, so there is no index to keep.

100,000 vectors of 384 numbers take 150 MB of memory and some 15 ms a question. What is in memory
follows the file: every search asks, in its own transaction, for the latest vector and the count of
deletions, which other processes move too.

Importing this takes numpy's 0.1 s: only stores with vectors do.
"""

import sqlite3
from collections.abc import Sequence
from threading import Lock
from typing import Any, Final

import numpy as np

from kds.brain.passages.embedding_queue import searched_model
from kds.brain.passages.schema import CHUNK_BITS, range_of, session_number
from kds.brain.passages.values import Scored
from kds.brain.passages.vector_blob import FORMAT, unit
from kds.brain.store.sqlite import Database

Array = np.ndarray[Any, Any]

SMALL_RANGE: Final = 1000
"""Chunks of a session up to which its vectors are read from the file for each question until all
are in memory: so many are read in 7 ms, all of 100,000 in 230 ms."""

BLOCK: Final = 1000
"""Rows multiplied at once: from some 1,200 on the library sets threads to work, which costs three
times the CPU."""

MANY_PARTS: Final = 16
"""New vectors are kept apart until there are so many parts, then joined: joining copies."""


class VectorSearch:
    """Nearest chunks by the vectors of the database."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._lock = Lock()
        self._held: _Vectors | None = None
        self._generation = database.generation

    def search(
        self, vector: Sequence[float], within: str | None, *, model: str, limit: int
    ) -> tuple[Scored, ...]:
        """Rank chunks by cosine; a model without vectors finds nothing."""
        asked = unit(np.asarray(vector, dtype=np.float32)[None, :])[0]
        place = self._database.place
        with self._database.read() as connection:
            number = searched_model(connection, model, len(asked), place)
            if number is None or limit < 1:
                return ()
            if within is None:
                ids, scores = self._all(connection, number, len(asked)).cosines(asked)
            else:
                session = session_number(connection, within, place)
                ids, scores = self._in_session(connection, number, asked, session)
        if len(scores) > limit:  # sorting all of them takes as long as comparing them
            near = scores >= np.partition(scores, -limit)[-limit]
            ids, scores = ids[near], scores[near]
        # The chunk's id decides between equal scores.
        best = np.lexsort((ids, -scores))[:limit]
        return tuple(Scored(int(ids[one]), float(scores[one])) for one in best)

    def _in_session(
        self, connection: sqlite3.Connection, model: int, asked: Array, session: int
    ) -> tuple[Array, Array]:
        first, last = range_of(session)
        query = "SELECT chunk_count FROM session WHERE num = ?"
        count = connection.execute(query, (session,)).fetchone()[0]
        held = self._held
        if count <= SMALL_RANGE and (held is None or held.model != model):
            ids, rows = _read(
                connection, model, len(asked), "chunk_id BETWEEN ? AND ?", first, last
            )
            return ids, rows @ asked
        ids, scores = self._all(connection, model, len(asked)).cosines(asked)
        mask = (ids >= first) & (ids <= last)
        return ids[mask], scores[mask]

    def _all(self, connection: sqlite3.Connection, model: int, width: int) -> "_Vectors":
        with self._lock:
            if self._generation != self._database.generation:
                self._held = None
                self._generation = self._database.generation
            if self._held is None or self._held.model != model:
                self._held = _Vectors(model, width)  # another model was replaced, or soon is
            self._held = self._held.followed(connection)
            return self._held


class _Vectors:
    """All vectors of one model, and how far the file was read. Never changed, but replaced."""

    def __init__(self, model: int, width: int) -> None:
        self.model = model
        self._width = width
        self._seen = 0
        self._deletions: int | None = None
        self._parts: list[tuple[Array, Array]] = []

    def cosines(self, asked: Array) -> tuple[Array, Array]:
        """Return the ids of all chunks, and their cosines to a vector of length one."""
        ids = [np.empty(0, dtype=np.int64), *(ids for ids, _ in self._parts)]
        blocks = [
            rows[at : at + BLOCK] @ asked
            for _, rows in self._parts
            for at in range(0, len(rows), BLOCK)
        ]
        scores = [np.empty(0, dtype=np.float32), *blocks]
        return np.concatenate(ids), np.concatenate(scores)

    def followed(self, connection: sqlite3.Connection) -> "_Vectors":
        """Return what the file holds by now."""
        latest, deletions = connection.execute(
            "SELECT (SELECT coalesce(max(num), 0) FROM embedding), "
            "(SELECT value FROM state WHERE key = 'vector_deletions')"
        ).fetchone()
        if (latest, deletions) == (self._seen, self._deletions):
            return self
        parts = self._parts
        if latest > self._seen:
            new = _read(connection, self.model, self._width, "num > ?", self._seen)
            if any(np.isin(new[0], ids).any() for ids, _ in parts):  # made again
                parts = [_kept(part, ~np.isin(part[0], new[0])) for part in parts]
            parts = [*parts, new]
        if deletions != self._deletions:
            numbers = [row[0] for row in connection.execute("SELECT num FROM session")]
            there = np.array(numbers, dtype=np.int64)
            parts = [_kept(part, np.isin(part[0] >> CHUNK_BITS, there)) for part in parts]
        if len(parts) > MANY_PARTS:
            ids, rows = zip(*parts, strict=True)
            parts = [(np.concatenate(ids), np.concatenate(rows))]
        found = _Vectors(self.model, self._width)
        found._seen, found._deletions, found._parts = latest, deletions, parts
        return found


def _kept(part: tuple[Array, Array], mask: Array) -> tuple[Array, Array]:
    return part if mask.all() else (part[0][mask], part[1][mask])


def _read(
    connection: sqlite3.Connection, model: int, width: int, which: str, *values: int
) -> tuple[Array, Array]:
    query = f"SELECT chunk_id, f16 FROM embedding WHERE {which} AND model_num = ?"
    ids: list[int] = []
    data = bytearray()
    for chunk_id, blob in connection.execute(query, (*values, model)):
        ids.append(chunk_id)
        data += blob
    rows = np.frombuffer(data, dtype=FORMAT).reshape(len(ids), width)
    return np.array(ids, dtype=np.int64), rows.astype(np.float32)
