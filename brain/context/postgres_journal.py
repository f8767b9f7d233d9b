"""The conversation contexts of one tenant on a server, for any number of services.

A turn holds its conversation: its other messages wait, so they are answered in
order, each with what was said before it. While the server is away the context is what this process
heard last, every such answer carries a warning, and what is said is not stored.
"""

import threading
from collections import OrderedDict
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager, nullcontext, suppress
from dataclasses import replace
from typing import Final
from uuid import uuid4

from kds.brain.clock import Clock, utc_now
from kds.brain.context.conversations import Marks
from kds.brain.context.journal import (
    LIMIT,
    MAX_AGE,
    Journal,
    LoadedContext,
    decode_lines,
    encode,
    refuse_ahead,
    stored_entry,
)
from kds.brain.context.origin import within_reach
from kds.brain.errors import OutageError
from kds.brain.learning.examples import FILE_NAME
from kds.brain.passages.schema import insert
from kds.brain.store.columns import to_micros
from kds.brain.store.engine import Connection
from kds.brain.store.tenancy import Tenancy, tenant_number
from kds.brain.turn import ContextEntry
from kds.brain.workspace import SharedDatabase

REMEMBERED: Final = 1000
"""Conversations whose entries the process keeps for an outage, the latest used."""

_MARKS: Final = "SELECT name, mark FROM kept_text WHERE name = ANY(?)"
_LEARNED: Final = [FILE_NAME]
_ROWS: Final = (
    "SELECT id, line FROM context_entry WHERE conversation = ? AND at >= ? "
    "ORDER BY num DESC LIMIT ?"
)

Row = tuple[str, str]
"""An entry's id, and its line as `journal.encode` writes it."""


class PostgresContexts:
    """The contexts of all conversations of a tenant."""

    def __init__(
        self,
        tenancy: Callable[[], Tenancy],
        *,
        clock: Clock = utc_now,
        close: Callable[[], None] = lambda: None,
    ) -> None:
        """``tenancy`` finds the tenant; it raises StoreError as long as the server is away."""
        self._close = close
        self.clock = clock
        self._find = tenancy
        self._tenancy: Tenancy | None = None
        self._marks: Marks | None = None
        self._known: OrderedDict[str, tuple[ContextEntry, ...]] = OrderedDict()
        self._lock = threading.Lock()

    @classmethod
    def of(cls, shared: SharedDatabase, *, clock: Clock = utc_now) -> "PostgresContexts":
        """Return the contexts of a workspace on its server; that is asked later."""
        server = shared.server()

        def tenancy() -> Tenancy:
            return Tenancy(server, tenant_number(server, shared.tenant), clock=clock)

        return cls(tenancy, clock=clock, close=server.close)

    def close(self) -> None:
        """Let go of the server. Closing twice is fine."""
        close, self._close = self._close, lambda: None
        close()

    def journal(self, conversation: str, *, origin: str | None = None) -> Journal:
        """The context of a conversation, by the name that its file would have."""
        return PostgresJournal(self, conversation, origin=origin)

    def known(self, conversation: str) -> tuple[ContextEntry, ...]:
        """What this process heard last in a conversation."""
        now = self.clock()
        with self._lock:
            found = self._known.get(conversation, ())
        return tuple(one for one in found if now - one.timestamp <= MAX_AGE)

    def know(self, conversation: str, entries: tuple[ContextEntry, ...]) -> None:
        """Remember the entries of a conversation for an outage."""
        with self._lock:
            self._known[conversation] = entries
            self._known.move_to_end(conversation)
            if len(self._known) > REMEMBERED:
                self._known.popitem(last=False)

    def marks(self, *, look: bool) -> Marks | None:
        """What the last turn saw of what was learned; with ``look`` it is asked for now."""
        if look:
            with suppress(OutageError), self.reading() as connection:
                self.note_marks(connection)
        return self._marks

    def note_marks(self, connection: Connection) -> None:
        """See whether anybody has learned something."""
        self._marks = frozenset(connection.execute(_MARKS, [_LEARNED]).fetchall())

    def reading(self) -> AbstractContextManager[Connection]:
        """Lend a connection to read with. Raises OutageError without asking for a while."""
        return self._asked().read()

    @contextmanager
    def writing(self, conversation: str) -> Iterator[Connection]:
        """Lend a connection that no other writer of the conversation has meanwhile.

        It also reads what others have learned.
        """
        with self._asked().write(lock=conversation) as connection:
            self.note_marks(connection)
            yield connection

    def _asked(self) -> Tenancy:
        if self._tenancy is None:
            self._tenancy = self._find()
        return self._tenancy


class PostgresJournal(Journal):
    """The context of one conversation, as far as it is in reach of an ``origin``, if any."""

    def __init__(
        self, contexts: PostgresContexts, conversation: str, *, origin: str | None = None
    ) -> None:
        self._contexts = contexts
        self._origin = origin
        self._conversation = conversation
        self._held = threading.local()

    @contextmanager
    def alone(self) -> Iterator[None]:
        """Keep other services out of this conversation; all of the turn is stored, or nothing.

        While the server is away nobody can be kept out. Within it, it may be begun again.
        """
        if self._connection is not None:
            yield
            return
        with ExitStack() as stack:
            with suppress(OutageError):
                self._held.connection = stack.enter_context(
                    self._contexts.writing(self._conversation)
                )
            try:
                yield
            finally:
                self._held.connection = None
            with suppress(OutageError):  # the turn is answered; its entry may not be stored
                stack.close()

    def load(self) -> LoadedContext:
        """Return what holds now, oldest first; while the server is away, what the process knows."""
        try:
            with self._reading() as connection:
                loaded = _entries(self._rows(connection))
        except OutageError as error:
            return self._known(error)
        return self._in_reach(loaded)

    def log(self, entry: ContextEntry, *, fresh: bool = False) -> LoadedContext:
        """Add ``entry`` and return what holds then; ``fresh`` drops the earlier ones in its reach.

        While the server is away only this process knows of it. Raises StoreError when it is dated
        ahead.
        """
        stored = stored_entry(replace(entry, origin=entry.origin or self._origin))
        refuse_ahead(entry, self._contexts.clock(), where="the conversation context")
        try:
            with self._writing() as connection:
                if fresh:
                    self._forget_in_reach(connection, stored.origin)
                return self._in_reach(self._store(connection, stored))
        except OutageError as error:
            before = self._contexts.known(self._conversation)
            near = within_reach(before, stored.origin) if fresh else ()
            kept = (*(one for one in before if one not in near), stored)
            self._contexts.know(self._conversation, kept[-LIMIT:])
            return self._known(error, "; this message is not stored")

    def clear(self) -> int:
        """Forget the conversation; returns the number of entries that were dropped."""
        with self._writing() as connection:
            count = len(self._rows(connection))
            connection.execute(
                "DELETE FROM context_entry WHERE conversation = ?", (self._conversation,)
            )
        self._contexts.know(self._conversation, ())
        return count

    @property
    def _connection(self) -> Connection | None:
        """The one of the turn that this thread is in, if it is in one."""
        held: Connection | None = getattr(self._held, "connection", None)
        return held

    def _reading(self) -> AbstractContextManager[Connection]:
        held = self._connection
        return self._contexts.reading() if held is None else nullcontext(held)

    def _writing(self) -> AbstractContextManager[Connection]:
        held = self._connection
        return self._contexts.writing(self._conversation) if held is None else nullcontext(held)

    def _store(self, connection: Connection, entry: ContextEntry) -> LoadedContext:
        row = (self._conversation, uuid4().hex, to_micros(entry.timestamp), encode(entry).decode())
        insert(connection, "context_entry", "conversation, id, at, line", [row])
        # What is too old, or too much, leaves the disk.
        kept = self._rows(connection)
        gone = connection.execute(
            "DELETE FROM context_entry WHERE conversation = ? AND NOT (id = ANY(?)) RETURNING at",
            (self._conversation, [one for one, _ in kept]),
        ).fetchall()
        oldest = self._oldest()
        expired = sum(at < oldest for (at,) in gone)
        return replace(_entries(kept), expired=expired, rotated=len(gone) - expired)

    def _forget_in_reach(self, connection: Connection, origin: str | None) -> None:
        """Drop what a message from ``origin`` may refer to: it changes the topic."""
        rows = self._rows(connection)
        near = within_reach(_entries(rows).entries, origin)
        gone = [
            one for one, line in rows if any(e in near for e in _entries([(one, line)]).entries)
        ]
        connection.execute(
            "DELETE FROM context_entry WHERE conversation = ? AND id = ANY(?)",
            (self._conversation, gone),
        )

    def _in_reach(self, loaded: LoadedContext) -> LoadedContext:
        self._contexts.know(self._conversation, loaded.entries)
        return replace(loaded, entries=within_reach(loaded.entries, self._origin))

    def _rows(self, connection: Connection) -> list[Row]:
        found = connection.execute(_ROWS, (self._conversation, self._oldest(), LIMIT)).fetchall()
        return found[::-1]

    def _oldest(self) -> int:
        return to_micros(self._contexts.clock() - MAX_AGE)

    def _known(self, error: OutageError, more: str = "") -> LoadedContext:
        note = f"{error.message}: the context is what this process knows of it{more}"
        entries = within_reach(self._contexts.known(self._conversation), self._origin)
        return LoadedContext(entries, (note,))


def _entries(rows: list[Row]) -> LoadedContext:
    lines = list(decode_lines("\n".join(line for _, line in rows).encode()))
    warnings = tuple(f"an entry of the context: {one.damage}" for one in lines if one.damage)
    return LoadedContext(tuple(one.entry for one in lines if one.entry), warnings)
