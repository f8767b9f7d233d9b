"""The conversation memory of one tenant on a server: `memory_store.MemoryStore`, put together."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Final, Self

from kds.brain.clock import Clock, utc_now
from kds.brain.database.engine import Connection
from kds.brain.database.health import Check
from kds.brain.database.instant import to_micros
from kds.brain.passages.outbox import backfill, read_models
from kds.brain.passages.passage_schema import range_of
from kds.brain.passages.rows import session_number
from kds.brain.passages.text_search import words_of
from kds.brain.passages.values import Summary
from kds.brain.passages.word_forms import WordForms
from kds.brain.postgres.server import Server
from kds.brain.postgres.tenancy import Tenancy
from kds.brain.postgres.tenants import tenant_number
from kds.brain.postgres.text_search import PostgresText
from kds.brain.postgres.vector_search import PostgresVectors
from kds.brain.postgres.word_index import any_of, indexed, question
from kds.brain.sessions.entities import EntityTable
from kds.brain.sessions.item_table import ALIVE, ItemTable, best_scores
from kds.brain.sessions.memory_rows import SUMMARY_COLUMNS, summary_of
from kds.brain.sessions.memory_schema import CONTEXT_CHARACTERS, CONTRADICTIONS, UNCUT
from kds.brain.sessions.memory_store import MemoryStore
from kds.brain.sessions.message_table import Draft
from kds.brain.sessions.metrics import MetricTable
from kds.brain.sessions.profile import ProfileTable
from kds.brain.sessions.restoring import Tables, put_back
from kds.brain.sessions.session_table import SessionTable
from kds.brain.sessions.session_values import Archive, Session, Stats
from kds.brain.sessions.side_stores import Namespace
from kds.brain.shared_database import SharedDatabase
from kds.brain.words.tokens import TokenCounter, estimate_tokens

_EARLIER: Final = (
    f"(SELECT substr(content, 1, {CONTEXT_CHARACTERS}) FROM message AS earlier "
    "WHERE earlier.session_num = message.session_num AND earlier.seq = message.seq - {back})"
)
_TEXTS: Final = (
    "SELECT chunk.id, header, substr(content, start + 1, length) AS body, "
    f"concat_ws(E'\\n', {_EARLIER.format(back=2)}, {_EARLIER.format(back=1)}) AS context, idents "
    "FROM chunk JOIN message ON message.num = chunk.message_num"
)
"""What the index knows of each passage, as the view ``chunk_text`` of a file has it."""

_UNCUT: Final = (
    "SELECT count(*) FROM message WHERE btrim(content, E' \\t\\n') <> '' "
    "AND NOT EXISTS (SELECT 1 FROM chunk WHERE message_num = message.num)"
)

_UNINDEXED: Final = "SELECT count(*) FROM chunk WHERE words = CAST('' AS tsvector)"

_MISCOUNTED: Final = (
    "SELECT count(*) FROM session WHERE word_count <> coalesce((SELECT sum(size) FROM chunk "
    "JOIN message ON message.num = message_num WHERE session_num = session.num), 0)"
)


class PostgresStore(SessionTable, Tables, PostgresText, PostgresVectors):
    """The memory of one person in an organisation."""

    database: Tenancy

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
        self.database = Tenancy(server, tenant, clock=clock)
        self._owns_server = owns_server
        self.profile = ProfileTable(self.database)
        self.entities = EntityTable(self.database)
        self.metrics = MetricTable(self.database)
        self.items = PostgresItems(self.database)

    @classmethod
    def of(
        cls,
        shared: SharedDatabase,
        *,
        clock: Clock = utc_now,
        count_tokens: TokenCounter = estimate_tokens,
    ) -> "PostgresStore":
        """Open the memory of a workspace on its server. Raises StoreError."""
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

    def restore(self, archive: Archive) -> Session:
        """Put an archived session back as it was; ids that are taken become new ones."""
        return self.session(put_back(self, archive))

    def measure(self) -> tuple[int, float]:
        """Return how many passages there are, and their mean size in tokens."""
        with self.database.read() as connection:
            passages, tokens = connection.execute(
                "SELECT coalesce(sum(chunk_count), 0), coalesce(sum(token_count), 0) FROM session"
            ).fetchone()
        return int(passages), float(tokens) / max(int(passages), 1)

    def index_passages(
        self, connection: Connection, session_num: int, seq: int, ids: Sequence[int], draft: Draft
    ) -> None:
        """Put the passages of a new message into the index."""
        if ids:
            words = self._index(connection, "id BETWEEN ? AND ?", (ids[0], ids[-1]))
            connection.execute(
                "UPDATE session SET word_count = word_count + ? WHERE num = ?", (words, session_num)
            )

    def add_row(
        self, connection: Connection, session_num: int, values: tuple[int, int, str, int, str]
    ) -> int:
        """Add a summary, and what finds it, within a transaction; returns its id."""
        number = super().add_row(connection, session_num, values)
        one = indexed(self._forms, ("", values[2]))
        connection.execute(
            "UPDATE summary SET words = CAST(? AS tsvector), size = ? WHERE num = ?",
            (one.words, one.size, number),
        )
        return number

    def search_summaries(
        self, query: str, session_id: str, *, limit: int
    ) -> tuple[tuple[Summary, float], ...]:
        """Rank the summaries of one session."""
        asked = _asked(self._forms, query)
        with self.database.read() as connection:
            number = session_number(connection, session_id, self.database.place)
            if not asked or limit < 1:
                return ()
            rows = connection.execute(
                f"SELECT {SUMMARY_COLUMNS}, ts_rank_cd(words, CAST(? AS tsquery), 1) AS score "
                "FROM summary JOIN session ON session.num = summary.session_num "
                "WHERE session_num = ? AND words @@ CAST(? AS tsquery) "
                "ORDER BY score DESC, summary.num LIMIT ?",
                (asked, number, asked, limit),
            ).fetchall()
        return tuple((summary_of(row[:-1]), row[-1]) for row in rows)

    def stats(self) -> Stats:
        """Return how much of this tenant is stored."""
        with self.database.read() as connection:
            sessions, messages, chunks, tokens = connection.execute(
                "SELECT count(*), coalesce(sum(message_count), 0), "
                "coalesce(sum(chunk_count), 0), coalesce(sum(token_count), 0) FROM session"
            ).fetchone()
            summaries = connection.execute("SELECT count(*) FROM summary").fetchone()[0]
            size = connection.execute(
                "SELECT (SELECT coalesce(sum(pg_column_size(message)), 0) FROM message) "
                "+ (SELECT coalesce(sum(pg_column_size(chunk)), 0) FROM chunk) "
                "+ (SELECT coalesce(sum(pg_column_size(embedding)), 0) FROM embedding)"
            ).fetchone()[0]
            models = read_models(connection)
            steps = connection.execute("SELECT steps FROM version").fetchone()[0]
        return Stats(
            sessions, int(messages), int(chunks), summaries, int(tokens), models, int(size), steps
        )

    def check(self) -> Check:
        """Examine the rows of this tenant; changes nothing."""
        questions = CONTRADICTIONS | {
            UNCUT: _UNCUT,
            "chunks are not in the index": _UNINDEXED,
            "sessions count their words wrong": _MISCOUNTED,
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
            for (number,) in connection.execute("SELECT num FROM session ORDER BY num").fetchall():
                words = self._index(connection, "id BETWEEN ? AND ?", range_of(number))
                connection.execute(
                    "UPDATE session SET word_count = ? WHERE num = ?", (words, number)
                )
            backfill(connection)
        return self.check()

    def close(self) -> None:
        """Let go of the tenant's rows, and of a server of its own. Closing twice is fine."""
        self._forms.close()
        self.database.close()
        if self._owns_server:
            self._owns_server = False
            self.database.server.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _index(self, connection: Connection, where: str, values: Sequence[int]) -> int:
        """Index passages as `_TEXTS` has them; returns how many words they have together."""
        total = 0
        rows = connection.execute(f"SELECT * FROM ({_TEXTS}) AS text WHERE {where}", values)
        ready = []
        for chunk_id, *columns in rows.fetchall():
            one = indexed(self._forms, columns, tenant=self.database.tenant)
            ready.append((one.words, one.size, chunk_id))
            total += one.size
        connection.executemany(
            "UPDATE chunk SET words = CAST(? AS tsvector), size = ? WHERE id = ?", ready
        )
        return total


class PostgresItems(ItemTable):
    """The tables of items, found by the full text of the server."""

    def add_texts(self, connection: Connection, item: int, texts: Sequence[str]) -> None:
        """Add what an item is found by, within a transaction."""
        forms = WordForms()
        found = [(text, indexed(forms, ("", text))) for text in texts]
        forms.close()
        connection.executemany(
            "INSERT INTO item_text(item_num, text, words, size) "
            "VALUES (?, ?, CAST(? AS tsvector), ?)",
            [(item, text, one.words, one.size) for text, one in found],
        )

    def search_words(
        self, query: str, prefix: Namespace = ()
    ) -> dict[tuple[Namespace, str], float]:
        """Score the items that share words with ``query``: higher is better."""
        forms = WordForms()
        asked = _asked(forms, query)
        forms.close()
        if not asked:
            return {}
        with self.database.read() as connection:
            rows = connection.execute(
                "SELECT item.namespace, item.key, ts_rank_cd(words, CAST(? AS tsquery), 1) "
                "FROM item_text JOIN item ON item.num = item_text.item_num "
                f"WHERE words @@ CAST(? AS tsquery) AND {ALIVE} "
                "AND item.namespace >= ? AND item.namespace < ?",
                (asked, asked, to_micros(self.database.clock()), *self.range_of(prefix)),
            ).fetchall()
        return best_scores(rows)


def _asked(forms: WordForms, query: str) -> str:
    return any_of(question(terms) for word in words_of(query) if (terms := forms(word)))


if TYPE_CHECKING:
    # What the protocol asks for is here, with the types it asks for.
    _checked: type[MemoryStore] = PostgresStore
