"""The table of summaries, with what finds them: words, and vectors where there is a model."""

from collections.abc import Sequence
from typing import Final, TypeVar

from kds.brain.errors import StoreError
from kds.brain.memory.memory_rows import SUMMARY_COLUMNS, summary_of
from kds.brain.passages.rows import session_number
from kds.brain.passages.store import Embedder
from kds.brain.passages.text_search import any_of, words_of
from kds.brain.passages.values import Summary, SummaryKind
from kds.brain.passages.vector_blob import from_blob, to_blobs
from kds.brain.store.columns import from_micros, kept_text, to_micros
from kds.brain.store.engine import Connection, Engine
from kds.brain.store.health import healing

ALIKE: Final = 0.35
"""Least cosine at which a summary or a line of the profile is about a question, for MiniLM-class
models."""

BATCH: Final = 32
"""Summaries that are embedded at once."""

T = TypeVar("T")

_FROM: Final = "summary JOIN session ON session.num = summary.session_num"


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

    def summaries_without(self, model: str) -> tuple[Summary, ...]:
        """Return periodic summaries that have no vector of ``model``, the latest first."""
        with self.database.read() as connection:
            rows = connection.execute(
                f"SELECT {SUMMARY_COLUMNS} FROM {_FROM} WHERE summary.kind = 'periodic' AND "
                "NOT EXISTS (SELECT 1 FROM summary_vector WHERE summary_num = summary.num "
                "AND model = ?) ORDER BY summary.num DESC LIMIT ?",
                (model, BATCH),
            ).fetchall()
        return tuple(map(summary_of, rows))

    def embed_summaries(self, embedder: Embedder) -> int:
        """Give some periodic summaries their vectors; returns how many got one.

        Raises StoreError for unusable vectors, and what the model raises.
        """
        if not (due := self.summaries_without(embedder.name)):
            return 0
        vectors = embedder.embed_documents([one.text for one in due])
        found = dict(zip((one.id for one in due), vectors, strict=True))
        _, blobs = to_blobs(found, where=self.database.place)
        with self.database.write(durable=False) as connection:
            connection.executemany(
                "INSERT INTO summary_vector(summary_num, model, f16) "
                "SELECT num, ?, ? FROM summary WHERE num = ? ON CONFLICT(summary_num) "
                "DO UPDATE SET model = excluded.model, f16 = excluded.f16",
                [(embedder.name, blob, number) for number, blob in blobs.items()],
            )
        return len(blobs)

    def near_summaries(
        self, vector: Sequence[float], session_id: str, *, model: str, limit: int
    ) -> tuple[tuple[Summary, float], ...]:
        """Rank the summaries of one session by their meaning (cosine of ALIKE or more)."""
        with self.database.read() as connection:
            number = session_number(connection, session_id, self.database.place)
            rows = connection.execute(
                f"SELECT {SUMMARY_COLUMNS}, f16 FROM {_FROM} "
                "JOIN summary_vector ON summary_num = summary.num "
                "WHERE session_num = ? AND model = ?",
                (number, model),
            ).fetchall()
        stored = [(summary_of(row[:-1]), row[-1]) for row in rows]
        return tuple(alike(vector, stored, where=self.database.place)[:limit])


def alike(
    vector: Sequence[float], stored: Sequence[tuple[T, bytes]], *, where: str
) -> list[tuple[T, float]]:
    """Return what has a vector of a cosine of ALIKE or more, the nearest first."""
    if not stored:
        return []
    _, blobs = to_blobs({"": vector}, where=where)
    asked = from_blob(blobs[""]).astype("f4")
    read = ((one, from_blob(blob).astype("f4")) for one, blob in stored)
    found = [(one, float(its @ asked)) for one, its in read if its.shape == asked.shape]
    return sorted((one for one in found if one[1] >= ALIKE), key=lambda one: -one[1])
