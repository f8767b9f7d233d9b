"""The table of summaries, and the thread in which models write them.

The rolling summary of a session covers what has left the window; a periodic one is made every few
replies, or when asked for.
"""

import logging
from collections.abc import Callable, Sequence
from dataclasses import replace
from threading import Lock, Thread, current_thread
from time import monotonic
from typing import Final, TypeVar

from kds.brain.errors import KdsError, StoreError
from kds.brain.memory.sessions import SessionTable
from kds.brain.passages.store import Embedder, Row, marks, session_number
from kds.brain.passages.values import Summary, SummaryKind
from kds.brain.store.columns import from_micros, kept_text, to_micros
from kds.brain.store.engine import Connection
from kds.brain.words.terms import stems

ALIKE: Final = 0.35
"""Least cosine at which a summary or a line of the profile is about a question, for MiniLM-class
models."""

BATCH: Final = 32
"""Summaries that are embedded at once."""

_SUMMARIES: Final = (
    "SELECT summary.num, session.id, first_seq, last_seq, summary.text, summary.at, summary.kind{} "
    "FROM summary JOIN session ON session.num = summary.session_num "
)

T = TypeVar("T")
logger = logging.getLogger(__name__)


class SummaryTable(SessionTable):
    """The table of summaries: a part of `memory_store.MemoryStore`."""

    def add_summary(
        self, session_id: str, first_seq: int, last_seq: int, text: str, *, kind: SummaryKind
    ) -> Summary:
        """Store a summary. Raises StoreError when its messages are none of the session."""
        at = from_micros(to_micros(self.database.clock()))
        summary = Summary(0, session_id, first_seq, last_seq, kept_text(text).strip(), at, kind)
        with self.database.write() as connection:
            session = self._one(connection, session_id)
            if not 1 <= first_seq <= last_seq <= session.message_count:
                raise StoreError(
                    f"the session has no messages {first_seq} to {last_seq}",
                    where=self.database.place,
                    hint="summarise messages that are stored",
                )
            return self.insert_summary(connection, session.num, summary)

    def insert_summary(self, connection: Connection, number: int, one: Summary) -> Summary:
        """Add a summary to the session of this number, within a transaction."""
        row = (number, one.first_seq, one.last_seq, one.text, to_micros(one.at), one.kind)
        made = connection.execute(
            "INSERT INTO summary(session_num, first_seq, last_seq, text, at, kind) "
            f"VALUES ({marks(row)}) RETURNING num",
            row,
        ).fetchone()
        return replace(one, id=int(made[0]))

    def summaries(self, session_id: str, *, kind: SummaryKind | None = None) -> tuple[Summary, ...]:
        """Return the summaries of a session in the order they were made."""
        which = (
            "WHERE session_num = ? AND summary.kind = coalesce(?, summary.kind) "
            "ORDER BY summary.num"
        )
        with self.database.read() as connection:
            number = session_number(connection, session_id, self.database.place)
            rows = connection.execute(_SUMMARIES.format("") + which, (number, kind))
            return tuple(map(_summary_of, rows.fetchall()))

    def latest_summary(self, session_id: str, kind: SummaryKind) -> Summary | None:
        """Return the latest summary of a session, None when there is none."""
        which = "WHERE session.id = ? AND summary.kind = ? ORDER BY summary.num DESC LIMIT 1"
        with self.database.read() as connection:
            row = connection.execute(_SUMMARIES.format("") + which, (session_id, kind)).fetchone()
        return _summary_of(row) if row else None

    def search_summaries(
        self, query: str, session_id: str, *, limit: int
    ) -> tuple[tuple[Summary, float], ...]:
        """Rank the summaries of one session by the share of the words of ``query`` they have."""
        asked = frozenset(stems(query))
        shared = (
            (one, len(asked.intersection(stems(one.text)))) for one in self.summaries(session_id)
        )
        found = [(one, count / len(asked)) for one, count in shared if count]
        return tuple(sorted(found, key=lambda one: -one[1])[: max(limit, 0)])

    def awaits(self, name: str) -> bool:
        """Return whether passages or summaries wait for a model, or it is a new one."""
        return super().awaits(name) or bool(self._without_vector(name))

    def _without_vector(self, model: str) -> list[tuple[int, str]]:
        query = (
            "SELECT num, text FROM summary WHERE kind = 'periodic' AND NOT EXISTS (SELECT 1 "
            "FROM summary_vector WHERE summary_num = summary.num AND model = ?) "
            "ORDER BY num DESC LIMIT ?"
        )
        with self.database.read() as connection:
            return [*connection.execute(query, (model, BATCH))]

    def embed_summaries(self, embedder: Embedder) -> int:
        """Give the latest periodic summaries without a vector one; returns how many got it.

        Raises StoreError for unusable vectors, and what the model raises.
        """
        from kds.brain.passages.vectors import to_blobs  # takes numpy along

        if not (due := self._without_vector(embedder.name)):
            return 0
        vectors = embedder.embed_documents([text for _, text in due])
        found = dict(zip((number for number, _ in due), vectors, strict=True))
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
        """Rank the periodic summaries of one session by their meaning (cosine of ALIKE or more)."""
        query = _SUMMARIES.format(", f16") + (
            "JOIN summary_vector ON summary_num = summary.num WHERE session_num = ? AND model = ?"
        )
        with self.database.read() as connection:
            number = session_number(connection, session_id, self.database.place)
            rows = connection.execute(query, (number, model)).fetchall()
        stored = [(_summary_of(row[:-1]), row[-1]) for row in rows]
        return tuple(alike(vector, stored, where=self.database.place)[:limit])


def _summary_of(row: Row) -> Summary:
    values: Row = (*row[:5], from_micros(row[5]), row[6])
    return Summary(*values)


def alike(
    vector: Sequence[float], stored: Sequence[tuple[T, bytes]], *, where: str
) -> list[tuple[T, float]]:
    """Return what has a vector of a cosine of ALIKE or more, the nearest first."""
    if not stored:
        return []
    from kds.brain.passages.vectors import from_blob, to_blobs  # takes numpy along

    _, blobs = to_blobs({"": vector}, where=where)
    asked = from_blob(blobs[""]).astype("f4")
    read = ((one, from_blob(blob).astype("f4")) for one, blob in stored)
    found = [(one, float(its @ asked)) for one, its in read if its.shape == asked.shape]
    return sorted((one for one in found if one[1] >= ALIKE), key=lambda one: -one[1])


class Later:
    """Makes summaries in the background, in one daemon thread per session."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._threads: dict[str, Thread] = {}

    def run(self, session: str, job: Callable[[], None]) -> None:
        """Run ``job``, unless one of the same session is running: the next one then catches up."""

        def work() -> None:
            try:
                job()
            except KdsError as error:
                logger.info("not summarised: %s", error)

        with self._lock:
            self._threads = {name: one for name, one in self._threads.items() if one.is_alive()}
            if session not in self._threads:
                self._threads[session] = Thread(target=work, name="kds-summaries", daemon=True)
                self._threads[session].start()

    def end(self, wait_s: float) -> tuple[str, ...]:
        """Wait until all is done; return the sessions for which it was not."""
        ends = monotonic() + wait_s
        with self._lock:
            threads = dict(self._threads)
        for thread in threads.values():
            if thread is not current_thread():
                thread.join(max(ends - monotonic(), 0.0))
        return tuple(name for name, thread in threads.items() if thread.is_alive())
