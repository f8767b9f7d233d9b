"""The conversation memory, put together: its tables, its file, and where a workspace has it.

`SqliteStore` keeps it in one file, `PostgresStore` on a server; both pass tests/brain/
conformance.py. Every method raises StoreError with ``where`` and ``hint``; a session that does not
exist is one of the reasons.

`schema/` has the steps that make the tables of a file. `message` holds every text once: a chunk is
a slice of its message, and what the index knows of a chunk is a view. The index notes in which
chunk a word stands, not where in it: it takes .38 of the size of real chats (.65 with columns). A
session's chunks are one range of ids. Times are microseconds since 1970.
"""

import json
from collections.abc import Callable, Mapping
from contextlib import nullcontext
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from functools import cached_property
from pathlib import Path
from typing import Any, Final

from kds.brain.errors import StoreError
from kds.brain.git import CONVERSATION
from kds.brain.memory.entities import EntityTable
from kds.brain.memory.profile import ProfileTable
from kds.brain.memory.sessions import Draft, Session, checked_id, found_in, insert, new_id
from kds.brain.memory.summaries import SummaryTable
from kds.brain.passages.details import imported
from kds.brain.passages.passage_file import PassageFile
from kds.brain.passages.postgres_passages import PostgresPassages
from kds.brain.passages.recall import Recall
from kds.brain.passages.store import Place, find_number
from kds.brain.passages.values import EmbeddingModel, Message, Summary
from kds.brain.store.columns import from_micros, json_column, kept_text, to_micros
from kds.brain.store.engine import Connection, Engine
from kds.brain.store.maintenance import healing
from kds.brain.store.migrations import FileKind, scripts
from kds.brain.store.sqlite import Database
from kds.brain.store.tenancy import Tenancy
from kds.brain.timeouts import leaving_time

TURN: Final = "turn"
"""Name of the measurement of a turn."""

EMBEDDING: Final = "embedding"
"""Name of the measurement of a batch of texts that an embedding model was given."""

MADE_AT_ONCE: Final = 20
"""Messages of an archive that are prepared between two pauses."""

RESTORING_REST: Final = 0.5
"""Length of these pauses, as a share of the work between them: others of the service get it."""

RECALL: Final = "recall"
"""Name of the measurement of a recall, for `kds metrics`."""

KEPT: Final = timedelta(days=30)
"""How long a measurement is kept."""

MOST_READ: Final = 50_000
"""Measurements that figures are of: a second's work. A person has a thousand a week."""

DROPPED_EACH: Final = timedelta(hours=1)
"""How often those that are older leave the disk; nobody sees them before."""

MEMORY: Final = FileKind(
    "the memory",
    0x4B44534D,  # 'KDSM'
    rebuild="kds memory check --rebuild",
    migrations=scripts(Path(__file__).parent / "schema"),
)


@dataclass(frozen=True, slots=True)
class Stats:
    """How much a store holds. ``size_bytes`` counts the files of the store on disk."""

    sessions: int
    messages: int
    chunks: int
    summaries: int
    tokens: int
    models: tuple[EmbeddingModel, ...]
    size_bytes: int
    schema_version: int


EMPTY: Final = Stats(0, 0, 0, 0, 0, (), 0, 0)
"""Of no store."""


@dataclass(frozen=True, slots=True)
class Archive:
    """A whole session, to be written out or put back. Its messages are numbered from 1."""

    session: Session
    messages: tuple[Message, ...]
    summaries: tuple[Summary, ...] = ()


@dataclass(frozen=True, slots=True)
class Metric:
    """One measured event: what it is called and what was measured."""

    at: datetime
    name: str
    data: dict[str, object]


class MetricTable:
    """Measurements, as JSON, for some days: figures, never a text."""

    def __init__(self, database: Engine) -> None:
        self.database = database
        self._dropped_at: datetime | None = None

    def add(
        self,
        name: str,
        data: Mapping[str, object],
        *,
        at: datetime | None = None,
        within: Connection | None = None,
    ) -> None:
        """Store one measurement, which JSON can hold, and now and then drop old ones.

        ``within``: a transaction that is open.
        """
        now = self.database.clock()
        row = (to_micros(at or now), name, json.dumps(dict(data), ensure_ascii=False))
        with nullcontext(within) if within else self.database.write(durable=False) as connection:
            connection.execute("INSERT INTO metric(at, name, data) VALUES (?, ?, ?)", row)
            if self._dropped_at is None or now - self._dropped_at >= DROPPED_EACH:
                connection.execute("DELETE FROM metric WHERE at < ?", (to_micros(now - KEPT),))
                self._dropped_at = now

    def note(self, name: str, data: Mapping[str, object]) -> tuple[str, ...]:
        """Store one measurement; where that fails (a full disk), a note says so."""
        try:
            self.add(name, data)
        except StoreError as error:
            return (f"not measured: {error.message}",)
        return ()

    def since(self, moment: datetime, *, name: str | None = None) -> tuple[Metric, ...]:
        """Return the measurements from ``moment`` on, the last MOST_READ of them, oldest first."""
        oldest = max(moment, self.database.clock() - KEPT)
        with self.database.read() as connection:
            rows = connection.execute(
                "SELECT at, name, data FROM metric WHERE at >= ? AND name = coalesce(?, name) "
                "ORDER BY at DESC, num DESC LIMIT ?",
                (to_micros(oldest), name, MOST_READ),
            ).fetchall()
        return tuple(
            Metric(from_micros(at), found, json_column(data)) for at, found, data in reversed(rows)
        )


class MemoryStore(SummaryTable):
    """All of it: conversations, what was said in them, and what stands beside them."""

    holders = "session"

    @cached_property
    def profile(self) -> ProfileTable:
        """What the user consented to be remembered."""
        return ProfileTable(self.database)

    @cached_property
    def entities(self) -> EntityTable:
        """What the router may resolve references with."""
        return EntityTable(self.database)

    @cached_property
    def metrics(self) -> MetricTable:
        """What recalls measured."""
        return MetricTable(self.database)

    @healing
    def note_turn(self, session: str, message: Draft, *notes: Callable[[Connection], None]) -> None:
        """Store a message, in a session that begins with it if need be, and what ``notes`` write
        of it: in one transaction."""
        at = message.message.at
        with self.database.write(ahead=True) as connection:
            found = find_number(connection, session)
            if found is None:
                name = checked_id(session, "session", self.database.place)
                found = insert(connection, Session(id=name, created_at=at, updated_at=at))
            self.add(connection, found, [message])
            for note in notes:
                note(connection)

    @healing
    def restore(self, archive: Archive) -> Session:
        """Restore an archived session, all or nothing; with a new id where its own is taken."""
        drafts: list[Draft] = []
        for at in range(0, len(archive.messages), MADE_AT_ONCE):
            with leaving_time(RESTORING_REST):
                drafts += map(self._draft_of, archive.messages[at : at + MADE_AT_ONCE])
        with self.database.write(ahead=True) as connection:
            there = found_in(connection, archive.session.id) is not None
            session = replace(archive.session, id=new_id() if there else archive.session.id)
            number = insert(connection, session)
            taken = self.known_ids(connection, [one.message.id for one in drafts])
            own = []
            for one in drafts:
                name = new_id() if one.message.id in taken else one.message.id
                taken.add(name)
                own.append(replace(one, message=replace(one.message, id=name)))
            if own:
                self.add(connection, number, own)
            for summary in archive.summaries:
                kept = replace(summary, text=kept_text(summary.text).strip())
                self.insert_summary(connection, number, kept)
            updated = to_micros(session.updated_at)
            query = "UPDATE session SET updated_at = ? WHERE num = ?"
            connection.execute(query, (updated, number))
            return self._one(connection, session.id)

    def _draft_of(self, one: Message) -> Draft:
        return self.draft(
            one.role,
            one.content,
            at=one.at,
            speaker=one.speaker,
            message_id=one.id or None,
            details=imported(one.details, one.content),
        )

    def stats(self) -> Stats:
        """Return how much is stored."""
        with self.database.read() as connection:
            sessions, messages, chunks, tokens = connection.execute(
                "SELECT count(*), coalesce(sum(message_count), 0), coalesce(sum(chunk_count), 0), "
                "coalesce(sum(token_count), 0) FROM session"
            ).fetchone()
            summaries = connection.execute("SELECT count(*) FROM summary").fetchone()[0]
            room = self._room(connection)
        numbers = (sessions, int(messages), int(chunks), summaries, int(tokens))
        return Stats(*numbers, self.models(), *room)


def is_whole(store: MemoryStore, archive: Archive) -> bool:
    """Whether an archived session is in a store, with all of its messages, and maybe later ones."""
    found = store.find_session(archive.session.id)
    if found is None or found.created_at != archive.session.created_at:
        return False
    told = [(one.role, one.at, one.content) for one in archive.messages]
    here = [(one.role, one.at, one.content) for one in store.messages(found.id)]
    return here[: len(told)] == told


def log_recall(
    store: MemoryStore,
    found: Recall,
    *,
    surface: str,
    budget_tokens: int | None = None,
    used_tokens: int | None = None,
    profile: int = 0,
) -> Recall:
    """Log a recall, and how much of its budget was used where texts were put together.

    ``profile``: how many of its lines were found as well. Returns the recall, with a note when
    the measurement cannot be kept.
    """
    data = found.as_metric(profile=profile) | {"surface": surface}
    if budget_tokens is not None:
        data |= {"budget_tokens": budget_tokens, "used_tokens": used_tokens or 0}
    return replace(found, notes=(*found.notes, *store.metrics.note(RECALL, data)))


class SqliteStore(PassageFile, MemoryStore):
    """The memory of one workspace."""

    database: Database
    kind = MEMORY
    file_name = "memory.db"


class PostgresStore(PostgresPassages, MemoryStore):
    """The memory of one person in an organisation."""

    database: Tenancy
    tables = ("message", "chunk", "embedding")


class MemoryPlace(Place[MemoryStore]):
    """The memory of a workspace, wherever that is."""

    __slots__ = ()
    file_name = SqliteStore.file_name
    private = CONVERSATION

    def _opened(self, **options: Any) -> MemoryStore:
        if self.shared is None:
            return SqliteStore(self.path, **options)
        return PostgresStore.of(self.shared, **options)
