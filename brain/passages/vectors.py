"""Searching vectors in memory, in two steps: the nearest by their signs, of these by cosine.

100,000 vectors of 384 numbers take 90 MB and some 8 ms a question. What is in memory follows the
file: every search asks, in its own transaction, for the latest vector and the count of deletions,
which other processes move too.

Importing this takes numpy's 0.1 s: only stores with vectors do.
"""

import sqlite3
from collections.abc import Sequence
from dataclasses import dataclass, field
from threading import Lock
from typing import Any, Final

import numpy as np

from kds.brain.passages.embedding_queue import searched_model
from kds.brain.passages.schema import CHUNK_BITS, range_of, session_number
from kds.brain.passages.values import Scored
from kds.brain.passages.vector_blob import FORMAT, unit
from kds.brain.store.sqlite import Database

Array = np.ndarray[Any, Any]

SHORTLIST: Final = 2000
"""Vectors whose cosines are computed, those with the most equal signs. Of 9,000 vectors the nearest
150 by sign had 99.0 % of the ten nearest by cosine, 300 had 99.7 %."""

MANY_PARTS: Final = 16
"""Parts of vectors in memory, before they are joined."""

SMALL_RANGE: Final = 1000
"""Chunks of a session up to which its vectors are read from the file for each question until all
are in memory: so many are read in 7 ms, all of 100,000 in 230 ms."""


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
                ids, rows = self._all(connection, number).nearest(asked)
            else:
                session = session_number(connection, within, place)
                ids, rows = self._of_session(connection, number, session)
        if not len(ids):
            return ()
        scores = rows.astype(np.float32) @ asked
        # The chunk's id decides between equal scores.
        best = np.lexsort((ids, -scores))[:limit]
        return tuple(Scored(int(ids[one]), float(scores[one])) for one in best)

    def _of_session(
        self, connection: sqlite3.Connection, model: int, session: int
    ) -> tuple[Array, Array]:
        first, last = range_of(session)
        query = "SELECT chunk_count FROM session WHERE num = ?"
        count = connection.execute(query, (session,)).fetchone()[0]
        held = self._held
        if count <= SMALL_RANGE and (held is None or held.model != model):
            return _read(connection, model, "chunk_id BETWEEN ? AND ?", first, last)
        held = self._all(connection, model)
        return held.at(np.flatnonzero((held.ids >= first) & (held.ids <= last)))

    def _all(self, connection: sqlite3.Connection, model: int) -> "_Vectors":
        with self._lock:
            held = self._held
            if (
                held is None
                or held.model != model  # another model was replaced, or soon is
                or self._generation != self._database.generation
            ):
                self._generation = self._database.generation
                held = _Vectors(model)
            self._held = held.followed(connection)
            return self._held


@dataclass(frozen=True)
class _Vectors:
    """All vectors of one model, and how far the file was read."""

    model: int
    ids: Array = field(default_factory=lambda: np.empty(0, dtype=np.int64))
    parts: tuple[Array, ...] = ()
    """The vectors, as they were read: joining them copies all."""
    signs: Array = field(default_factory=lambda: np.empty((0, 0), dtype=np.uint64))
    state: tuple[int, int] = (0, 0)
    """The latest vector, and the count of deletions."""

    def nearest(self, asked: Array) -> tuple[Array, Array]:
        """Return the ids and vectors that may be the nearest."""
        if len(self.ids) <= SHORTLIST:
            return self.at(np.arange(len(self.ids)))
        differing = np.bitwise_count(self.signs ^ _signs_of(asked[None, :]))
        distances = differing.sum(axis=1, dtype=np.uint16)
        return self.at(np.sort(np.argpartition(distances, SHORTLIST)[:SHORTLIST]))

    def at(self, places: Array) -> tuple[Array, Array]:
        """Return the ids and vectors at some places, which are in order."""
        found, start = [], 0
        for part in self.parts:
            first, last = np.searchsorted(places, (start, start + len(part)))
            found.append(part[places[first:last] - start])
            start += len(part)
        return self.ids[places], np.concatenate(found) if found else np.empty((0, 0))

    def followed(self, connection: sqlite3.Connection) -> "_Vectors":
        """Return what the file holds by now."""
        state = connection.execute(
            "SELECT (SELECT coalesce(max(num), 0) FROM embedding), "
            "(SELECT value FROM state WHERE key = 'vector_deletions')"
        ).fetchone()
        if state == self.state:
            return self
        ids, rows = _read(connection, self.model, "num > ?", self.state[0])
        stays = ~np.isin(self.ids, ids)  # the others were made again
        if state[1] != self.state[1]:
            numbers = [row[0] for row in connection.execute("SELECT num FROM session")]
            stays &= np.isin(self.ids >> CHUNK_BITS, np.array(numbers, dtype=np.int64))
        old, parts, signs = self.ids, self.parts, self.signs
        if not stays.all() or len(parts) >= MANY_PARTS:
            old, joined = self.at(np.flatnonzero(stays))
            parts, signs = (joined,), signs[stays]
        if len(ids):
            new = _signs_of(rows)
            signs = np.concatenate((signs, new)) if len(old) else new
            parts = (*parts, rows) if len(old) else (rows,)
        return _Vectors(self.model, np.concatenate((old, ids)), parts, signs, state)


def _signs_of(rows: Array) -> Array:
    """Return the signs of each row's numbers as bits, 64 in a number."""
    bits = np.packbits(rows > 0, axis=1)
    return np.pad(bits, ((0, 0), (0, -bits.shape[1] % 8))).view(np.uint64)


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
    return np.array(ids, dtype=np.int64), rows
