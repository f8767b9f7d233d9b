"""Summaries in SQLite."""

from dataclasses import dataclass
from datetime import datetime

from kds.brain.database.database import Database
from kds.brain.database.instant import from_micros, to_micros
from kds.brain.database.stored_text import kept_text
from kds.brain.errors import StoreError
from kds.brain.passages.values import Summary, SummaryKind
from kds.brain.sessions.memory_rows import SUMMARY_COLUMNS, session_number, summary_of

_FROM = "summary JOIN session ON session.num = summary.session_num"


@dataclass(frozen=True, slots=True)
class SummaryTable:
    """The table of summaries."""

    database: Database

    def add(
        self,
        session_id: str,
        first_seq: int,
        last_seq: int,
        text: str,
        *,
        kind: SummaryKind,
        at: datetime | None = None,
    ) -> Summary:
        """Store a summary. Raises StoreError when its messages are none of the session."""
        kept = kept_text(text).strip()
        path = self.database.path
        micros = to_micros(at or self.database.clock())
        with self.database.write() as connection:
            number = session_number(connection, session_id, path)
            row = connection.execute("SELECT message_count FROM session WHERE num = ?", (number,))
            if not 1 <= first_seq <= last_seq <= row.fetchone()[0]:
                raise StoreError(
                    f"the session has no messages {first_seq} to {last_seq}",
                    where=str(path),
                    hint="summarise messages that are stored",
                )
            cursor = connection.execute(
                "INSERT INTO summary(session_num, first_seq, last_seq, text, at, kind) "
                "VALUES (?, ?, ?, ?, ?, ?)",
                (number, first_seq, last_seq, kept, micros, kind),
            )
        made = int(cursor.lastrowid or 0)
        return Summary(made, session_id, first_seq, last_seq, kept, from_micros(micros), kind)

    def list(self, session_id: str, *, kind: SummaryKind | None) -> tuple[Summary, ...]:
        """Return the summaries of a session in the order they were made."""
        with self.database.read() as connection:
            number = session_number(connection, session_id, self.database.path)
            rows = connection.execute(
                f"SELECT {SUMMARY_COLUMNS} FROM {_FROM} WHERE session_num = ? "
                "AND summary.kind = coalesce(?, summary.kind) ORDER BY summary.num",
                (number, kind),
            ).fetchall()
        return tuple(map(summary_of, rows))
