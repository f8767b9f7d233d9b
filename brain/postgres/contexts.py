"""The conversation contexts of one tenant on a server, for any number of services.

A turn holds its conversation: whoever else has a message of it waits, so messages are answered in
order, each with what was said before it. What the server cannot take or give for a while comes from
what this process knows, and every such answer says so; what could not be stored is stored with the
next message, once, before it.
"""

import threading
from collections import OrderedDict
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Final
from uuid import uuid4

from kds.brain.clock import Clock, utc_now
from kds.brain.database.engine import Connection
from kds.brain.database.instant import to_micros
from kds.brain.entry_line import decode_lines, encode
from kds.brain.errors import OutageError, StoreError
from kds.brain.journal import (
    LIMIT,
    MAX_AGE,
    Journal,
    LoadedContext,
    refuse_ahead,
    stored_entry,
)
from kds.brain.postgres.tenancy import Tenancy
from kds.brain.postgres.tenants import tenant_number
from kds.brain.shared_database import SharedDatabase
from kds.brain.turn import ContextEntry

REMEMBERED: Final = 1000
"""Conversations whose entries the process keeps for an outage, the latest used."""

_ROWS: Final = (
    "SELECT id, line FROM context_entry WHERE conversation = ? AND at >= ? "
    "ORDER BY num DESC LIMIT ?"
)

Row = tuple[str, str]
"""An entry's id, and its line as `entry_line` writes it."""


@dataclass(slots=True)
class _Known:
    """What the process knows of a conversation."""

    entries: tuple[ContextEntry, ...] = ()
    waiting: list[tuple[str, ContextEntry]] = field(default_factory=list)
    """Not stored yet, each with its id."""


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
        self._known: OrderedDict[str, _Known] = OrderedDict()
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

    def journal(self, conversation: str) -> Journal:
        """The context of a conversation, by the name that its file would have."""
        return PostgresJournal(self, conversation)

    def known(self, conversation: str) -> _Known:
        """What the process knows of a conversation; the least used one that was stored goes."""
        with self._lock:
            found = self._known.setdefault(conversation, _Known())
            self._known.move_to_end(conversation)
            if len(self._known) > REMEMBERED:
                stored = (name for name, one in self._known.items() if not one.waiting)
                self._known.pop(next(stored, conversation), None)
            return found

    @contextmanager
    def reading(self) -> Iterator[Connection]:
        """Lend a connection to read with. Raises OutageError without asking for a while."""
        with self._asked().read() as connection:
            yield connection

    @contextmanager
    def writing(self, conversation: str) -> Iterator[Connection]:
        """Lend a connection that no other writer of the conversation has meanwhile."""
        with self._asked().write(lock=conversation) as connection:
            yield connection

    def _asked(self) -> Tenancy:
        if self._tenancy is None:
            self._tenancy = self._find()
        return self._tenancy


class PostgresJournal:
    """The context of one conversation: `kds.brain.journal.Journal`."""

    def __init__(self, contexts: PostgresContexts, conversation: str) -> None:
        self._contexts = contexts
        self._conversation = conversation
        self._held = threading.local()

    @contextmanager
    def alone(self) -> Iterator[None]:
        """Keep other services out of this conversation; all of the turn is stored, or nothing.

        While the server is away nobody can be kept out.
        """
        try:
            writing = self._contexts.writing(self._conversation)
            connection = writing.__enter__()
        except OutageError:
            yield
            return
        known = self._contexts.known(self._conversation)
        self._held.connection, self._held.logged = connection, []
        try:
            yield
        except BaseException as error:
            if not writing.__exit__(type(error), error, error.__traceback__):
                raise
        else:
            try:
                writing.__exit__(None, None, None)
            except OutageError:  # perhaps it was stored: its id tells, with the next message
                waiting = {one for one, _ in known.waiting}
                lost = [one for one in self._held.logged if one[0] not in waiting]
                known.waiting = [*lost, *known.waiting]
        finally:
            self._held.connection = None

    def load(self) -> LoadedContext:
        """Return what holds now, oldest first; while the server is away, what the process knows."""
        known = self._contexts.known(self._conversation)
        try:
            with self._reading() as connection:
                rows = self._rows(connection)
        except OutageError as error:
            return self._without(known, error)
        stored = _entries(rows)
        ids = {one for one, _ in rows}
        waiting = tuple(entry for one, entry in known.waiting if one not in ids)
        known.entries = (*stored.entries, *waiting)[-LIMIT:]
        return replace(stored, entries=known.entries)

    def log(self, entry: ContextEntry, *, fresh: bool = False) -> LoadedContext:
        """Add ``entry`` and return what holds then; ``fresh`` drops the earlier entries.

        While the server is away it is kept in the process, and stored with the next message.
        Raises StoreError when it is dated ahead.
        """
        stored = stored_entry(entry)
        refuse_ahead(entry, self._contexts.clock(), where="the conversation context")
        known = self._contexts.known(self._conversation)
        new = (uuid4().hex, stored)
        try:
            with self._writing() as connection:
                loaded = self._store(connection, [*known.waiting, new], fresh=fresh)
        except OutageError as error:
            known.waiting = [*([] if fresh else known.waiting), new][-LIMIT:]
            known.entries = (*(() if fresh else known.entries), stored)
            return self._without(known, error)
        known.waiting = []
        known.entries = loaded.entries
        return loaded

    def clear(self) -> int:
        """Forget the conversation; returns the number of entries that were dropped."""
        count = len(self.load().entries)
        with self._writing() as connection:
            self._forget(connection)
        known = self._contexts.known(self._conversation)
        known.entries, known.waiting = (), []
        return count

    @contextmanager
    def _reading(self) -> Iterator[Connection]:
        held: Connection | None = getattr(self._held, "connection", None)
        if held is not None:
            yield held
            return
        with self._contexts.reading() as connection:
            yield connection

    @contextmanager
    def _writing(self) -> Iterator[Connection]:
        held: Connection | None = getattr(self._held, "connection", None)
        if held is not None:
            yield held
            return
        with self._contexts.writing(self._conversation) as connection:
            yield connection

    def _store(
        self, connection: Connection, new: list[tuple[str, ContextEntry]], *, fresh: bool
    ) -> LoadedContext:
        if fresh:
            self._forget(connection)
        connection.executemany(
            "INSERT INTO context_entry(conversation, id, at, line) VALUES (?, ?, ?, ?) "
            "ON CONFLICT DO NOTHING",
            [
                (self._conversation, one, to_micros(entry.timestamp), encode(entry).decode())
                for one, entry in new
            ],
        )
        if (logged := getattr(self._held, "logged", None)) is not None:
            logged += new
        # What is too old, or too much, leaves the disk (DESIGN 3).
        kept = self._rows(connection)
        gone = connection.execute(
            "DELETE FROM context_entry WHERE conversation = ? AND NOT (id = ANY(?)) RETURNING at",
            (self._conversation, [one for one, _ in kept]),
        ).fetchall()
        oldest = self._oldest()
        expired = sum(at < oldest for (at,) in gone)
        return replace(_entries(kept), expired=expired, rotated=len(gone) - expired)

    def _forget(self, connection: Connection) -> None:
        connection.execute(
            "DELETE FROM context_entry WHERE conversation = ?", (self._conversation,)
        )

    def _rows(self, connection: Connection) -> list[Row]:
        found = connection.execute(_ROWS, (self._conversation, self._oldest(), LIMIT)).fetchall()
        return found[::-1]

    def _oldest(self) -> int:
        return to_micros(self._contexts.clock() - MAX_AGE)

    def _without(self, known: _Known, error: StoreError) -> LoadedContext:
        now = self._contexts.clock()
        young = tuple(one for one in known.entries if now - one.timestamp <= MAX_AGE)[-LIMIT:]
        known.entries = young
        note = f"{error.message}: the context is what this process knows of it"
        if known.waiting:
            note += f"; {len(known.waiting)} not stored yet"
        return LoadedContext(young, (note,))


def _entries(rows: list[Row]) -> LoadedContext:
    lines = list(decode_lines("\n".join(line for _, line in rows).encode()))
    warnings = tuple(f"an entry of the context: {one.damage}" for one in lines if one.damage)
    return LoadedContext(tuple(one.entry for one in lines if one.entry), warnings)


if TYPE_CHECKING:
    # What the protocol asks for is here, with the types it asks for.
    _checked: type[Journal] = PostgresJournal
