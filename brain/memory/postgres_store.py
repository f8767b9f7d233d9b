"""The conversation memory of one tenant on a server: `memory_store.MemoryStore`, put together."""

from collections.abc import Sequence
from typing import Final

from kds.brain.memory.memory_store import CONTRADICTIONS, MemoryStore
from kds.brain.memory.records import SUMMARY_COLUMNS, summary_of
from kds.brain.memory.sessions import Draft
from kds.brain.passages.passage_file import WordForms, words_of
from kds.brain.passages.postgres_passages import (
    PostgresPassages,
    any_of,
    indexed,
    question,
    steps_taken,
    stored_bytes,
)
from kds.brain.passages.schema import session_number
from kds.brain.passages.values import Summary
from kds.brain.store.engine import Connection
from kds.brain.store.tenancy import Tenancy

_TEXTS: Final = (
    "SELECT chunk.id, header, substr(content, start + 1, length) AS body, "
    "'' AS context, idents "
    "FROM chunk JOIN message ON message.num = chunk.message_num"
)
"""What the index knows of each passage, as the view ``chunk_text`` of a file has it."""


class PostgresStore(PostgresPassages, MemoryStore):
    """The memory of one person in an organisation."""

    database: Tenancy
    texts = _TEXTS
    contradictions = CONTRADICTIONS

    def index_passages(
        self, connection: Connection, session_num: int, seq: int, ids: Sequence[int], draft: Draft
    ) -> None:
        """Put the passages of a new message into the index."""
        if ids:
            self.index_range(connection, session_num, (ids[0], ids[-1]))

    def add_row(
        self, connection: Connection, session_num: int, values: tuple[int, int, str, int, str]
    ) -> int:
        """Add a summary, and what finds it, within a transaction; returns its id."""
        number = super().add_row(connection, session_num, values)
        words, _ = indexed(self._forms, ("", values[2]))
        connection.execute(
            "UPDATE summary SET words = CAST(? AS tsvector) WHERE num = ?",
            (words, number),
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

    def size(self, connection: Connection) -> int:
        """Return how much room the rows of this tenant take."""
        return stored_bytes(connection, ("message", "chunk", "embedding"))

    def version(self, connection: Connection) -> int:
        """Return how many steps the database has had."""
        return steps_taken(connection)


def _asked(forms: WordForms, query: str) -> str:
    return any_of(question(terms) for word in words_of(query) if (terms := forms(word)))
