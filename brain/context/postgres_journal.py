"""The conversation contexts of one tenant on a server, for any number of services.

A turn holds its conversation: its other messages wait, so they are answered in
order, each with what was said before it. While the server is away the context is what this process
knows, every such answer says so, and nothing of it is stored.
"""

import threading
from collections import OrderedDict
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext, suppress
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
from kds.brain.errors import OutageError, StoreError
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
        """What the process knows of a conversation that holds still."""
        now = self.clock()
        with self._lock:
            found = self._known.get(conversation, ())
        return tuple(one for one in found if now - one.timestamp <= MAX_AGE)[-LIMIT:]

    def remember(self, conversation: str, entries: tuple[ContextEntry, ...]) -> None:
        """Know what a conversation holds; the one that was used least is forgotten."""
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
        self._marks = frozenset(connection.execute(_MARKS, [[FILE_NAME]]).fetchall())

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
        try:
            writing = self._writing()
            connection = writing.__enter__()
        except OutageError:
            yield
            return
        outer, self._held.connection = self._held_connection(), connection
        try:
            yield
        except BaseException as error:
            if not writing.__exit__(type(error), error, error.__traceback__):
                raise
        else:
            with suppress(OutageError):  # the turn goes on, with what this process knows
                writing.__exit__(None, None, None)
        finally:
            self._held.connection = outer

    def load(self) -> LoadedContext:
        """Return what holds now, oldest first; while the server is away, what the process knows."""
        try:
            with self._reading() as connection:
                loaded = _entries(self._rows(connection))
        except OutageError as error:
            return self._without(error)
        return self._loaded(loaded)

    def log(self, entry: ContextEntry, *, fresh: bool = False) -> LoadedContext:
        """Add ``entry`` and return what holds then; ``fresh`` drops the earlier ones in its reach.

        While the server is away it is known to this process only. Raises StoreError when it is
        dated ahead.
        """
        stored = stored_entry(replace(entry, origin=entry.origin or self._origin))
        refuse_ahead(entry, self._contexts.clock(), where="the conversation context")
        try:
            with self._writing() as connection:
                loaded = self._store(connection, stored, fresh=fresh)
        except OutageError as error:
            known = self._contexts.known(self._conversation)
            near = within_reach(known, stored.origin) if fresh else ()
            kept = (*(one for one in known if one not in near), stored)
            self._contexts.remember(self._conversation, kept)
            return self._without(error)
        return self._loaded(loaded)

    def clear(self) -> int:
        """Forget the conversation; returns the number of entries that were dropped."""
        count = len(self.load().entries)
        with self._writing() as connection:
            connection.execute(
                "DELETE FROM context_entry WHERE conversation = ?", (self._conversation,)
            )
        self._contexts.remember(self._conversation, ())
        return count

    def _held_connection(self) -> Connection | None:
        """The one of the turn that this thread is in, if it is in one."""
        held: Connection | None = getattr(self._held, "connection", None)
        return held

    def _reading(self) -> AbstractContextManager[Connection]:
        held = self._held_connection()
        return self._contexts.reading() if held is None else nullcontext(held)

    def _writing(self) -> AbstractContextManager[Connection]:
        held = self._held_connection()
        return self._contexts.writing(self._conversation) if held is None else nullcontext(held)

    def _store(self, connection: Connection, new: ContextEntry, *, fresh: bool) -> LoadedContext:
        if fresh:
            self._forget_in_reach(connection, new.origin)
        row = (self._conversation, uuid4().hex, to_micros(new.timestamp), encode(new).decode())
        insert(connection, "context_entry", "conversation, id, at, line", [row])
        # What is too old, or too much, leaves the disk.
        kept = self._rows(connection)
        gone = connection.execute(
            "DELETE FROM context_entry WHERE conversation = ? AND NOT (id = ANY(?)) RETURNING at",
            (self._conversation, [one for one, _ in kept]),
        ).fetchall()
        oldest = to_micros(self._contexts.clock() - MAX_AGE)
        expired = sum(at < oldest for (at,) in gone)
        return replace(_entries(kept), expired=expired, rotated=len(gone) - expired)

    def _forget_in_reach(self, connection: Connection, origin: str | None) -> None:
        """Drop what a message from ``origin`` may refer to: it changes the topic."""
        named = [
            (row[0], entry) for row in self._rows(connection) for entry in _entries([row]).entries
        ]
        near = within_reach([entry for _, entry in named], origin)
        connection.execute(
            "DELETE FROM context_entry WHERE conversation = ? AND NOT (id = ANY(?))",
            (self._conversation, [one for one, entry in named if entry not in near]),
        )

    def _rows(self, connection: Connection) -> list[Row]:
        oldest = to_micros(self._contexts.clock() - MAX_AGE)
        return connection.execute(_ROWS, (self._conversation, oldest, LIMIT)).fetchall()[::-1]

    def _loaded(self, loaded: LoadedContext) -> LoadedContext:
        self._contexts.remember(self._conversation, loaded.entries)
        return replace(loaded, entries=within_reach(loaded.entries, self._origin))

    def _without(self, error: StoreError) -> LoadedContext:
        note = f"{error.message}: the context is what this process knows of it, and is not stored"
        known = self._contexts.known(self._conversation)
        return LoadedContext(within_reach(known, self._origin), (note,))


def _entries(rows: list[Row]) -> LoadedContext:
    lines = list(decode_lines("\n".join(line for _, line in rows).encode()))
    warnings = tuple(f"an entry of the context: {one.damage}" for one in lines if one.damage)
    return LoadedContext(tuple(one.entry for one in lines if one.entry), warnings)
