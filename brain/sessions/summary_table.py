"""Summaries, and their full-text index in SQLite."""

from kds.brain.database.engine import Connection, Engine
from kds.brain.database.health import healing
from kds.brain.database.instant import from_micros, to_micros
from kds.brain.database.stored_text import kept_text
from kds.brain.errors import StoreError
from kds.brain.passages.rows import session_number
from kds.brain.passages.text_search import any_of, words_of
from kds.brain.passages.values import Summary, SummaryKind
from kds.brain.sessions.memory_rows import SUMMARY_COLUMNS, summary_of

_FROM = "summary JOIN session ON session.num = summary.session_num"


class SummaryTable:
    """The table of summaries: a part of `memory_store.MemoryStore`."""

    database: Engine

    @healing
    def add_summary(
        self, session_id: str, first_seq: int, last_seq: int, text: str, *, kind: SummaryKind
    ) -> Summary:
        """Store a summary. Raises StoreError when its messages are none of the session."""
        kept = kept_text(text).strip()
        place = self.database.place
        micros = to_micros(self.database.clock())
        with self.database.write() as connection:
            number = session_number(connection, session_id, place)
            row = connection.execute("SELECT message_count FROM session WHERE num = ?", (number,))
            if not 1 <= first_seq <= last_seq <= row.fetchone()[0]:
                raise StoreError(
                    f"the session has no messages {first_seq} to {last_seq}",
                    where=place,
                    hint="summarise messages that are stored",
                )
            made = self.add_row(connection, number, (first_seq, last_seq, kept, micros, kind))
        return Summary(made, session_id, first_seq, last_seq, kept, from_micros(micros), kind)

    def add_row(
        self, connection: Connection, session_num: int, values: tuple[int, int, str, int, str]
    ) -> int:
        """Add first and last ``seq``, text, time and kind, within a transaction; returns its id."""
        row = connection.execute(
            "INSERT INTO summary(session_num, first_seq, last_seq, text, at, kind) "
            "VALUES (?, ?, ?, ?, ?, ?) RETURNING num",
            (session_num, *values),
        ).fetchone()
        return int(row[0])

    def summaries(self, session_id: str, *, kind: SummaryKind | None = None) -> tuple[Summary, ...]:
        """Return the summaries of a session in the order they were made."""
        with self.database.read() as connection:
            number = session_number(connection, session_id, self.database.place)
            rows = connection.execute(
                f"SELECT {SUMMARY_COLUMNS} FROM {_FROM} WHERE session_num = ? "
                "AND summary.kind = coalesce(?, summary.kind) ORDER BY summary.num",
                (number, kind),
            ).fetchall()
        return tuple(map(summary_of, rows))

    @healing
    def search_summaries(
        self, query: str, session_id: str, *, limit: int
    ) -> tuple[tuple[Summary, float], ...]:
        """Rank the summaries of one session."""
        question = any_of(words_of(query))
        with self.database.read() as connection:
            number = session_number(connection, session_id, self.database.place)
            if not question or limit < 1:
                return ()
            rows = connection.execute(
                f"SELECT {SUMMARY_COLUMNS}, -bm25(summary_fts) AS score FROM summary_fts "
                "JOIN summary ON summary.num = summary_fts.rowid "
                "JOIN session ON session.num = summary.session_num "
                "WHERE summary_fts MATCH ? AND session_num = ? "
                "ORDER BY score DESC, summary.num LIMIT ?",
                (question, number, limit),
            ).fetchall()
        return tuple((summary_of(row[:-1]), row[-1]) for row in rows)
