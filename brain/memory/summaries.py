"""Summaries of sessions: the table, and keeping them up to date.

The rolling summary covers what has left the window. It is stored in steps of some turns; what
left since is added without a model whenever a window is made. A periodic one is made every few
replies, or when asked for. What is stored is never ahead of what was said.
"""

import logging
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from threading import Lock, Thread, current_thread
from typing import TYPE_CHECKING, Final, Literal, TypeVar

from kds.brain.errors import KdsError, StoreError
from kds.brain.memory.extractive import Limit, lacking, read
from kds.brain.memory.records import SUMMARY_COLUMNS, summary_of
from kds.brain.memory.summarizer import CheckedSummarizer, Made, Summarizer
from kds.brain.passages.store import Embedder, session_number
from kds.brain.passages.values import Message, Summary, SummaryKind, is_told
from kds.brain.store.columns import from_micros, kept_text, to_micros
from kds.brain.store.engine import Connection, Engine
from kds.brain.words.terms import stems

if TYPE_CHECKING:
    from kds.brain.memory.memory_store import MemoryStore

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

    def latest_summary(self, session_id: str, kind: SummaryKind) -> Summary | None:
        """Return the latest summary of a session, None when there is none."""
        with self.database.read() as connection:
            row = connection.execute(
                f"SELECT {SUMMARY_COLUMNS} FROM {_FROM} WHERE session.id = ? AND summary.kind = ? "
                "ORDER BY summary.num DESC LIMIT 1",
                (session_id, kind),
            ).fetchone()
        return summary_of(row) if row else None

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
        from kds.brain.passages.vectors import to_blobs  # takes numpy along

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
    from kds.brain.passages.vectors import from_blob, to_blobs  # takes numpy along

    _, blobs = to_blobs({"": vector}, where=where)
    asked = from_blob(blobs[""]).astype("f4")
    read = ((one, from_blob(blob).astype("f4")) for one, blob in stored)
    found = [(one, float(its @ asked)) for one, its in read if its.shape == asked.shape]
    return sorted((one for one in found if one[1] >= ALIKE), key=lambda one: -one[1])


logger = logging.getLogger(__name__)

CONDENSE_AT: Final = 0.95
"""Of the limit of a conversation that is sent whole: then the older part is condensed."""

CONDENSE_TO: Final = 0.5
"""Of the limit that stays verbatim then. Condensing costs a summary and what a provider cached
of the beginning: it must not happen at every turn."""

SUMMARY_SHARE: Final = 0.02
"""Of such a limit for the summary: 5,200 tokens of 262k."""

STORED_TURNS: Final = 4
"""Turns between two stored rolling summaries: a quarter of the model's work and of the disk."""

BACKLOG: Final = 5000
"""Messages that are summarised at once, the newest: 1,200 of 100 tokens take 0.7 s of CPU. Only
an imported conversation has more."""

Keep = Literal["due", "always", "never"]

OnMade = Callable[[str, Made], None]
"""Told the kind of each summary and how it was made."""


@dataclass(frozen=True, slots=True)
class Covered:
    """A summary of a session up to ``last_seq``; ``notes`` say what a user should know."""

    text: str = ""
    last_seq: int = 0
    notes: tuple[str, ...] = ()


class Condensation:
    """The summaries of the sessions of one store, for any number of threads."""

    def __init__(
        self,
        store: "MemoryStore",
        summarizer: CheckedSummarizer,
        *,
        on_made: OnMade = lambda _, __: None,
    ) -> None:
        self._store = store
        self._summarizer = summarizer
        self._on_made = on_made

    def stored(self, session_id: str, kind: SummaryKind = "rolling") -> Covered:
        """Return the latest stored summary of a session."""
        found = self._store.latest_summary(session_id, kind)
        return Covered(found.text, found.last_seq) if found else Covered()

    def cover(
        self,
        session_id: str,
        last_seq: int,
        *,
        limit: Limit,
        keep: Keep = "due",
        model: Summarizer | None = None,
    ) -> Covered:
        """Return a summary of the session up to ``last_seq``, or a little further.

        Made without a model unless one is given, and stored as ``keep`` says: when enough turns
        were added, always, or never.
        """
        known = self.stored(session_id)
        if last_seq <= known.last_seq:
            return known
        messages = self._since(known, session_id, last_seq)
        made = self._by(model).make(_spoken(messages), known.text, limit=limit)
        covered = Covered(made.text, last_seq)
        newer = self.stored(session_id).last_seq > known.last_seq  # another thread was quicker
        if not newer and (keep == "always" or (keep == "due" and _is_due(messages))):
            self._on_made("rolling", made)
            return self._store_rolling(session_id, covered)
        return covered

    def is_due(self, session_id: str, last_seq: int) -> bool:
        """Whether enough turns were added for a rolling summary up to ``last_seq``."""
        known = self.stored(session_id)
        return last_seq > known.last_seq and _is_due(self._since(known, session_id, last_seq))

    def within(self, text: str, limit: Limit) -> str:
        """Cut a summary down, when a window has less room for it than usual."""
        extractive = self._summarizer.extractive
        return text if extractive.is_within(text, limit) else extractive((), text, limit=limit)

    def with_periodic(
        self, session_id: str, text: str, verbatim: Iterable[str], *, limit: Limit
    ) -> str:
        """Add to the summary of a window what the newest periodic summary says besides.

        That is what neither the summary nor the messages beside it tell, as long as there is
        room. One that the rolling summary covers adds nothing.
        """
        known = self.stored(session_id, "periodic")
        if known.last_seq <= self.stored(session_id).last_seq:
            return text
        extractive = self._summarizer.extractive
        rest = lacking(read((), known.text), "\n".join((text, *verbatim)))
        left = Limit(
            limit.words - len(text.split()), limit.tokens - extractive.count_tokens(text) - 1
        )
        return "\n".join(filter(None, (text, extractive.of(rest, limit=left))))

    def periodic(
        self, session_id: str, last_seq: int, *, replies: int, model: Summarizer | None = None
    ) -> Summary | None:
        """Store a summary of what was said since the last periodic one up to ``last_seq``.

        None when fewer ``replies`` were, nothing was said, or another thread was quicker.
        """
        known = self.stored(session_id, "periodic")
        count = min(last_seq - known.last_seq, BACKLOG)
        if count < max(replies, 1):
            return None
        messages = self._store.messages(session_id, last=count, before_seq=last_seq + 1)
        told = _spoken(messages)
        if sum(message.role == "assistant" for message in told) < replies:
            return None
        made = self._by(model).make(told)
        if not made.text or self.stored(session_id, "periodic").last_seq > known.last_seq:
            return None
        self._on_made("periodic", made)
        first, last = messages[0].seq, messages[-1].seq
        return self._store.add_summary(session_id, first, last, made.text, kind="periodic")

    def _by(self, model: Summarizer | None) -> CheckedSummarizer:
        return replace(self._summarizer, model=model) if model is not None else self._summarizer

    def _store_rolling(self, session_id: str, covered: Covered) -> Covered:
        if covered.text:
            try:
                self._store.add_summary(
                    session_id, 1, covered.last_seq, covered.text, kind="rolling"
                )
            except StoreError as error:  # the window goes on with what it has
                return replace(
                    covered, notes=(*covered.notes, f"summary not stored: {error.message}")
                )
        return covered

    def _since(self, known: Covered, session_id: str, last_seq: int) -> tuple[Message, ...]:
        count = min(last_seq - known.last_seq, BACKLOG)
        return self._store.messages(session_id, last=count, before_seq=last_seq + 1)


class Later:
    """Makes summaries in one thread, a session after the other, while nobody waits.

    The thread is a daemon and ends when there is nothing left to do: it never keeps the process
    from ending.
    """

    def __init__(self) -> None:
        self._lock = Lock()
        self._jobs: dict[str, Callable[[], None]] = {}
        self._running: str | None = None
        self._thread: Thread | None = None

    def run(self, session: str, job: Callable[[], None]) -> None:
        """Have ``job`` done; one of the same session that has not begun is replaced."""
        with self._lock:
            self._jobs[session] = job
            if self._thread is None:
                self._thread = Thread(target=self._run, name="kds-summaries", daemon=True)
                self._thread.start()

    def end(self, wait_s: float) -> tuple[str, ...]:
        """Wait until all is done; return the sessions for which it was not."""
        with self._lock:
            thread = self._thread
        if thread is not None and thread is not current_thread():
            thread.join(wait_s)
        with self._lock:
            left = tuple(self._jobs)
            self._jobs.clear()
            return (*left, *((self._running,) if self._running is not None else ()))

    def _run(self) -> None:
        while True:
            with self._lock:
                if not self._jobs:
                    self._thread = self._running = None
                    return
                self._running = next(iter(self._jobs))
                job = self._jobs.pop(self._running)
            try:
                job()
            except KdsError as error:
                logger.info("not summarised: %s", error)


def _spoken(messages: tuple[Message, ...]) -> tuple[Message, ...]:
    """What people and agents said."""
    return tuple(one for one in messages if is_told(one.role, one.speaker))


def _is_due(messages: tuple[Message, ...]) -> bool:
    return sum(message.role == "user" for message in messages) >= STORED_TURNS
