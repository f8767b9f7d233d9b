"""Passages and vectors of one tenant on a server: `store.PassageStore`, put together.

Vectors are pgvector's, in half precision, with an HNSW index a width.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import ClassVar, Final, Self

from kds.brain.clock import Clock, utc_now
from kds.brain.passages.outbox import Outbox, backfill, searched_model
from kds.brain.passages.passage_schema import CHUNK_BITS, range_of
from kds.brain.passages.postgres_search import PostgresSearch, indexed
from kds.brain.passages.rows import session_number
from kds.brain.passages.store import PassageStore
from kds.brain.passages.values import Scored
from kds.brain.passages.vector_blob import from_blob, unit
from kds.brain.shared_database import SharedDatabase
from kds.brain.store.engine import Connection
from kds.brain.store.health import Check
from kds.brain.store.postgres import Server
from kds.brain.store.tenancy import CONVERSATIONS, Area, Tenancy, tenant_number
from kds.brain.words.tokens import TokenCounter, estimate_tokens

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


_UNINDEXED: Final = "SELECT count(*) FROM chunk WHERE words = CAST('' AS tsvector)"

_MISCOUNTED: Final = (
    "SELECT count(*) FROM {holders} AS one WHERE word_count <> coalesce((SELECT sum(size) FROM "
    f"chunk WHERE id >= one.num << {CHUNK_BITS} AND id < (one.num + 1) << {CHUNK_BITS}), 0)"
)


class PostgresPassages(PostgresSearch, PostgresVectors, PassageStore):
    """Passages of one tenant; what they are passages of is its subclasses' business."""

    database: Tenancy
    area: ClassVar[Area] = CONVERSATIONS
    holders: ClassVar[str]
    """The table that counts passages, tokens and words: of sessions, or of documents."""
    texts: ClassVar[str]
    """Asks for id, header, body, context and idents of each passage: what the index knows of it."""
    contradictions: ClassVar[Mapping[str, str]]
    """What may not be, and the question that counts how often it is."""

    def __init__(
        self,
        server: Server,
        tenant: int,
        *,
        clock: Clock = utc_now,
        count_tokens: TokenCounter = estimate_tokens,
        owns_server: bool = False,
    ) -> None:
        """See the rows of ``tenant``; the tables were made by `upgrade`. Asks nothing yet.

        Who ``owns_server`` closes it along with the store.
        """
        super().__init__()
        self.count_tokens = count_tokens
        self.database = Tenancy(server, tenant, area=self.area, clock=clock)
        self._owns_server = owns_server

    @classmethod
    def of(
        cls,
        shared: SharedDatabase,
        *,
        clock: Clock = utc_now,
        count_tokens: TokenCounter = estimate_tokens,
    ) -> Self:
        """Open what a workspace has on its server. Raises StoreError."""
        server = shared.server()
        try:
            tenant = tenant_number(server, shared.tenant)
        except BaseException:
            server.close()
            raise
        return cls(server, tenant, clock=clock, count_tokens=count_tokens, owns_server=True)

    @property
    def warnings(self) -> tuple[str, ...]:
        """Nothing is put right in passing on a server."""
        return ()

    def measure(self) -> tuple[int, float]:
        """Return how many passages there are, and their mean size in tokens."""
        with self.database.read() as connection:
            passages, tokens = connection.execute(
                "SELECT coalesce(sum(chunk_count), 0), coalesce(sum(token_count), 0) "
                f"FROM {self.holders}"
            ).fetchone()
        return int(passages), float(tokens) / max(int(passages), 1)

    def check(self) -> Check:
        """Examine the rows of this tenant; changes nothing."""
        questions = {
            **self.contradictions,
            "passages are not in the index": _UNINDEXED,
            f"{self.holders}s count their words wrong": _MISCOUNTED.format(holders=self.holders),
        }
        problems = []
        with self.database.read() as connection:
            for what, query in questions.items():
                if count := connection.execute(query).fetchone()[0]:
                    problems.append(f"{what}: {count}")
        return Check(tuple(problems))

    def rebuild(self) -> Check:
        """Index every passage anew, queue what has no vector, and examine everything."""
        with self.database.write() as connection:
            numbers = connection.execute(f"SELECT num FROM {self.holders} ORDER BY num").fetchall()
            for (number,) in numbers:
                connection.execute(
                    f"UPDATE {self.holders} SET word_count = 0 WHERE num = ?", (number,)
                )
                self.index_range(connection, number, range_of(number))
            backfill(connection)
        return self.check()

    def index_range(self, connection: Connection, number: int, ids: tuple[int, int]) -> None:
        """Put the passages from one id to another into the index; their holder counts the words."""
        rows = connection.execute(
            f"SELECT * FROM ({self.texts}) AS text WHERE id BETWEEN ? AND ?", ids
        ).fetchall()
        ready = []
        for chunk_id, *columns in rows:
            one = indexed(self._forms, columns, tenant=self.database.tenant)
            ready.append((one.words, one.size, chunk_id))
        connection.executemany(
            "UPDATE chunk SET words = CAST(? AS tsvector), size = ? WHERE id = ?", ready
        )
        connection.execute(
            f"UPDATE {self.holders} SET word_count = word_count + ? WHERE num = ?",
            (sum(size for _, size, _ in ready), number),
        )

    def close(self) -> None:
        """Let go of the tenant's rows, and of a server of its own. Closing twice is fine."""
        self._forms.close()
        self.database.close()
        if self._owns_server:
            self._owns_server = False
            self.database.server.close()


def stored_bytes(connection: Connection, tables: Sequence[str]) -> int:
    """Return how much room the rows of the tenant take in some tables."""
    each = (f"(SELECT coalesce(sum(pg_column_size({one})), 0) FROM {one})" for one in tables)
    return int(connection.execute(f"SELECT {' + '.join(each)}").fetchone()[0])


def steps_taken(connection: Connection) -> int:
    """Return which version the tables have."""
    return int(connection.execute("SELECT steps FROM kds.version").fetchone()[0])
