"""The queue of passages that wait for their vectors, and the models whose vectors are kept.

Jobs are queued in the transaction that stores the passage, so an outage of the embedding model
costs nothing but time. A job is claimed by putting off its time: after a crash it falls due again.
"""

from collections.abc import Iterable, Mapping, Sequence
from datetime import timedelta
from typing import Final

from kds.brain.errors import StoreError
from kds.brain.passages.schema import IDS_AT_ONCE, insert, marks
from kds.brain.passages.values import EmbeddingJob, EmbeddingModel
from kds.brain.store.columns import kept_text, to_micros
from kds.brain.store.engine import Connection, Engine
from kds.brain.store.sqlite import Database

LEASE: Final = timedelta(minutes=5)
"""How long a claimed job is reserved: longer than a batch takes, and short enough that jobs of a
dead process are soon taken up."""

ATTEMPTS: Final = 36
"""After these a job is given up: an outage may last a day. `retry` takes it up again. The pause
before another doubles with each failure, from two seconds up to an hour."""

_ERROR_LENGTH: Final = 300

_MODEL: Final = "SELECT num, dimensions, wanted FROM embedding_model WHERE name = ?"


class EmbeddingQueue:
    """The passages of a store that wait for vectors, and the models whose vectors are kept."""

    database: Engine

    def use_model(self, name: str | None) -> None:
        """Set the model whose vectors are wanted from now on; every passage without one is queued.

        Another model that serves goes on serving until the new one has all passages; then its
        vectors are removed. None: queue nothing any more.
        """
        with self.database.read() as connection:
            if _wanted(connection) == name:
                return
        with self.database.write() as connection:
            connection.execute("UPDATE embedding_model SET wanted = 0")
            connection.execute("DELETE FROM embed_job")
            if name is None:
                return
            _forget_models(self.database, connection, "serving = 0 AND name <> ?", name)
            connection.execute(
                "INSERT INTO embedding_model(name, serving, wanted) "
                "SELECT CAST(? AS text), CASE WHEN count(*) = 0 THEN 1 ELSE 0 END, 1 "
                "FROM embedding_model WHERE serving = 1 "
                "ON CONFLICT(name) DO UPDATE SET wanted = 1",
                (name,),
            )
            backfill(connection)
            _promote(self.database, connection)

    def models(self) -> tuple[EmbeddingModel, ...]:
        """Return the models in use: the serving one first."""
        with self.database.read() as connection:
            return read_models(connection)

    def has_vectors(self, name: str) -> bool:
        """Return whether passages have vectors of a model; a question needs none otherwise."""
        query = "SELECT 1 FROM embedding_model WHERE name = ? AND dimensions IS NOT NULL"
        with self.database.read() as connection:
            return connection.execute(query, (name,)).fetchone() is not None

    def awaits(self, name: str) -> bool:
        """Return whether passages wait for a model, or the store has not heard of it."""
        with self.database.read() as connection:
            row = connection.execute(_MODEL, (name,)).fetchone()
            if row is None:
                return True
            query = "SELECT 1 FROM embed_job WHERE next_at IS NOT NULL LIMIT 1"
            return bool(row[2]) and connection.execute(query).fetchone() is not None

    def pending_embeddings(self, limit: int) -> tuple[EmbeddingJob, ...]:
        """Claim up to ``limit`` passages that are due; no other process gets them for a while."""
        now = self.database.clock()
        with self.database.read() as connection:  # most often there is nothing to claim
            if not _due(connection, to_micros(now), 1):
                return ()
        with self.database.write(durable=False) as connection:
            attempts = _due(connection, to_micros(now), min(limit, IDS_AT_ONCE))
            connection.executemany(
                "UPDATE embed_job SET next_at = ? WHERE chunk_id = ?",
                [(to_micros(now + LEASE), chunk_id) for chunk_id in attempts],
            )
            ids = list(attempts)
            rows = connection.execute(
                f"SELECT id, header, body FROM chunk_text WHERE id IN ({marks(ids)}) ORDER BY id",
                ids,
            ).fetchall()
        return tuple(
            EmbeddingJob(one, f"{header}\n{body}" if header else body, attempts[one])
            for one, header, body in rows
        )

    def store_embeddings(self, model: str, vectors: Mapping[int, Sequence[float]]) -> int:
        """Store vectors by passage and take their jobs off the queue; returns how many.

        Those that were deleted meanwhile are passed over.
        """
        from kds.brain.passages.vectors import to_blobs  # takes numpy along

        dimensions, blobs = to_blobs(vectors, where=self.database.place)
        with self.database.write(durable=False) as connection:
            number, wanted = self._model(connection, model, dimensions)
            stored = self.keep_vectors(connection, number, blobs)
            if wanted:
                connection.executemany(
                    "DELETE FROM embed_job WHERE chunk_id = ?", [(key,) for key in blobs]
                )
                _promote(self.database, connection)
        return stored

    def keep_vectors(self, connection: Connection, model: int, blobs: Mapping[int, bytes]) -> int:
        """Write the vectors of passages that exist, within a transaction; returns how many."""
        return connection.executemany(
            "INSERT OR REPLACE INTO embedding(chunk_id, model_num, f16) "
            "SELECT id, ?, ? FROM chunk WHERE id = ?",
            [(model, blob, chunk_id) for chunk_id, blob in blobs.items()],
        ).rowcount

    def fail_embeddings(self, chunk_ids: Sequence[int], error: str) -> None:
        """Put jobs back: tried again later and later, and given up after some attempts."""
        now = self.database.clock()
        text = kept_text(error)[:_ERROR_LENGTH]
        with self.database.write(durable=False) as connection:
            connection.executemany(
                "UPDATE embed_job SET attempts = attempts + 1, error = ?, next_at = CASE "
                f"WHEN attempts + 1 >= {ATTEMPTS} THEN NULL "
                "WHEN attempts >= 11 THEN ? + 3600000000 ELSE ? + (2000000 << attempts) END "
                "WHERE chunk_id = ?",
                [(text, to_micros(now), to_micros(now), chunk_id) for chunk_id in chunk_ids],
            )
            _promote(self.database, connection)

    def retry_embeddings(self) -> int:
        """Make every job due now, also those given up; returns how many."""
        with self.database.write(durable=False) as connection:
            return connection.execute("UPDATE embed_job SET next_at = 0, attempts = 0").rowcount

    def _model(self, connection: Connection, name: str, dimensions: int | None) -> tuple[int, bool]:
        row = connection.execute(_MODEL, (name,)).fetchone()
        if row is None:
            raise StoreError(
                f"no vectors of the model {name!r} are wanted",
                where=self.database.place,
                hint="say first which model is in use",
            )
        if dimensions is not None and row[1] is None:
            connection.execute(
                "UPDATE embedding_model SET dimensions = ? WHERE num = ?", (dimensions, row[0])
            )
        elif dimensions is not None:
            _refuse_other_width(name, row[1], dimensions, self.database.place)
        return int(row[0]), bool(row[2])


def queue(connection: Connection, chunk_ids: Iterable[int]) -> None:
    """Queue new chunks, within the transaction that stores them, if vectors are wanted."""
    if _wanted(connection) is not None:
        jobs = ((chunk_id, 0) for chunk_id in chunk_ids)
        insert(connection, "embed_job", "chunk_id, next_at", jobs, "ON CONFLICT DO NOTHING")


def searched_model(connection: Connection, name: str, width: int, place: str) -> int | None:
    """Return the number of a model, None as long as it has no vectors.

    Raises StoreError when they are not of ``width`` numbers.
    """
    row = connection.execute(_MODEL, (name,)).fetchone()
    if row is None or row[1] is None:
        return None
    _refuse_other_width(name, row[1], width, place)
    return int(row[0])


def backfill(connection: Connection) -> int:
    """Queue every chunk without a vector of the wanted model; returns how many are new."""
    return connection.execute(
        "INSERT INTO embed_job(chunk_id, next_at) "
        "SELECT chunk.id, 0 FROM chunk, embedding_model AS model WHERE model.wanted = 1 "
        "AND NOT EXISTS (SELECT 1 FROM embedding "
        "WHERE embedding.chunk_id = chunk.id AND embedding.model_num = model.num) "
        "ON CONFLICT DO NOTHING"
    ).rowcount


def count_vector_deletion(engine: Engine, connection: Connection) -> None:
    """Tell every process that holds the vectors of a file in memory that some are gone."""
    if isinstance(engine, Database):
        connection.execute("UPDATE state SET value = value + 1 WHERE key = 'vector_deletions'")


def read_models(connection: Connection) -> tuple[EmbeddingModel, ...]:
    """Return the models, the serving one first."""
    vectors = dict(
        connection.execute("SELECT model_num, count(*) FROM embedding GROUP BY model_num")
    )
    waiting, failed = connection.execute(
        "SELECT count(*), count(*) - count(next_at) FROM embed_job"
    ).fetchone()
    error = connection.execute(
        "SELECT error FROM embed_job WHERE error IS NOT NULL ORDER BY attempts DESC LIMIT 1"
    ).fetchone()
    return tuple(
        EmbeddingModel(
            name=name,
            dimensions=dimensions,
            state="serving" if serving else "building",
            vectors=vectors.get(number, 0),
            waiting=waiting if wanted else 0,
            failed=failed if wanted else 0,
            last_error=error[0] if wanted and error else "",
        )
        for number, name, dimensions, serving, wanted in connection.execute(
            "SELECT num, name, dimensions, serving, wanted FROM embedding_model "
            "ORDER BY serving DESC, num"
        )
    )


def _refuse_other_width(name: str, width: int, given: int, place: str) -> None:
    if given != width:
        raise StoreError(
            f"the model {name!r} has vectors of {width} numbers, not {given}",
            where=place,
            hint="give another model another name",
        )


def _wanted(connection: Connection) -> str | None:
    row = connection.execute("SELECT name FROM embedding_model WHERE wanted = 1").fetchone()
    return str(row[0]) if row else None


def _due(connection: Connection, now: int, limit: int) -> dict[int, int]:
    return dict(
        connection.execute(
            "SELECT chunk_id, attempts FROM embed_job WHERE next_at <= ? "
            "ORDER BY next_at, chunk_id LIMIT ?",
            (now, limit),
        )
    )


def _promote(engine: Engine, connection: Connection) -> None:
    """Let the wanted model serve once it has everything that can be had."""
    row = connection.execute(
        "SELECT name FROM embedding_model WHERE wanted = 1 AND serving = 0 "
        "AND NOT EXISTS (SELECT 1 FROM embed_job WHERE next_at IS NOT NULL)"
    ).fetchone()
    if row is not None:
        _forget_models(engine, connection, "name <> ?", row[0])
        connection.execute("UPDATE embedding_model SET serving = 1")


def _forget_models(engine: Engine, connection: Connection, condition: str, name: str) -> None:
    gone = connection.execute(f"DELETE FROM embedding_model WHERE {condition}", (name,)).rowcount
    if gone:
        count_vector_deletion(engine, connection)
