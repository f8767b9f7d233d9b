"""Passages of one tenant on a server: `store.PassageStore` for messages and for documents."""

from collections.abc import Mapping, Sequence
from typing import ClassVar, Final, Self

from kds.brain.clock import Clock, utc_now
from kds.brain.database.engine import Connection
from kds.brain.database.health import Check
from kds.brain.passages.outbox import backfill
from kds.brain.passages.passage_schema import CHUNK_BITS, range_of
from kds.brain.passages.store import PassageStore
from kds.brain.postgres.common_words import AMONG
from kds.brain.postgres.full_text import PostgresText
from kds.brain.postgres.server import Server
from kds.brain.postgres.tenancy import CONVERSATIONS, Area, Tenancy, tenant_number
from kds.brain.postgres.vector_search import PostgresVectors
from kds.brain.postgres.word_index import indexed
from kds.brain.shared_database import SharedDatabase
from kds.brain.words.tokens import TokenCounter, estimate_tokens

_UNINDEXED: Final = "SELECT count(*) FROM chunk WHERE words = CAST('' AS tsvector)"

_MISCOUNTED: Final = (
    "SELECT count(*) FROM {holders} AS one WHERE word_count <> coalesce((SELECT sum(size) FROM "
    f"chunk WHERE id >= one.num << {CHUNK_BITS} AND id < (one.num + 1) << {CHUNK_BITS}), 0)"
)


class PostgresPassages(PostgresText, PostgresVectors, PassageStore):
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
            passages, tokens, among = connection.execute(
                f"SELECT coalesce(sum(chunk_count), 0), coalesce(sum(token_count), 0), {AMONG} "
                f"FROM {self.holders}"
            ).fetchone()
        self.common_words.follow(self.database, int(passages), among)
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
