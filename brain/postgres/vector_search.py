"""Vectors on a server: pgvector, in half precision, with an HNSW index a width."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Final

from kds.brain.database.engine import Connection
from kds.brain.passages.outbox import Outbox, searched_model
from kds.brain.passages.passage_schema import range_of
from kds.brain.passages.rows import session_number
from kds.brain.passages.values import Scored
from kds.brain.passages.vector_blob import from_blob, unit
from kds.brain.postgres.tenancy import Tenancy

WIDEST: Final = 4000
"""Numbers of a vector that HNSW takes in half precision; wider ones are all compared."""

SEARCHED: Final = 100
"""Vectors that HNSW keeps in view (``ef_search``); with the filter of the tenant it goes on."""


class PostgresVectors(Outbox):
    """The outbox of `passages/outbox.py`, its vectors in pgvector."""

    database: Tenancy

    def search_dense(
        self, vector: Sequence[float], within: str | None = None, *, model: str, limit: int
    ) -> tuple[Scored, ...]:
        """Rank passages by the cosine of their vectors of ``model`` to ``vector``."""
        import numpy as np

        with self.database.read() as connection:
            place = self.database.place
            number = session_number(connection, within, place) if within is not None else None
            width = len(vector)
            searched = searched_model(connection, model, width, place)
            if searched is None or limit < 1:
                return ()
            condition = ""
            values: tuple[int, ...] = ()
            if number is not None:
                condition, values = "AND chunk_id BETWEEN ? AND ? ", range_of(number)
            elif width <= WIDEST:
                connection.execute(f"SET LOCAL hnsw.ef_search = {max(SEARCHED, limit)}")
                connection.execute("SET LOCAL hnsw.iterative_scan = 'relaxed_order'")
            far = f"CAST(vector AS halfvec({width})) <=> CAST(? AS halfvec({width}))"
            asked = written(unit(np.asarray([vector], dtype=np.float32))[0])
            rows = connection.execute(
                f"SELECT chunk_id, 1 - ({far}) FROM embedding WHERE model_num = ? "
                f"AND vector_dims(vector) = {width} {condition}ORDER BY {far} LIMIT ?",
                (asked, searched, *values, asked, limit),
            ).fetchall()
        hits = [Scored(chunk_id, score) for chunk_id, score in rows]
        return tuple(sorted(hits, key=lambda hit: -hit.score))

    def keep_vectors(self, connection: Connection, model: int, blobs: Mapping[int, bytes]) -> int:
        """Write the vectors of passages that exist, within a transaction; returns how many."""
        vectors = {chunk_id: from_blob(blob) for chunk_id, blob in blobs.items()}
        if not vectors:
            return 0
        connection.execute("SELECT index_vectors(?)", (len(next(iter(vectors.values()))),))
        return connection.executemany(
            "INSERT INTO embedding(chunk_id, model_num, vector) "
            "SELECT id, ?, CAST(? AS halfvec) FROM chunk WHERE id = ? "
            "ON CONFLICT (chunk_id, model_num) DO UPDATE SET vector = excluded.vector",
            [(model, written(vector), chunk_id) for chunk_id, vector in vectors.items()],
        ).rowcount


def written(numbers: Iterable[float]) -> str:
    """Return a vector as pgvector reads it."""
    return "[" + ",".join(f"{number:.6g}" for number in numbers) + "]"
