"""The conversation contexts of one tenant on a server, for any number of services.

A turn holds its conversation: its other messages wait, so they are answered in
order, each with what was said before it. While the server is away the context is what this process
knows, and every such answer says so; what could not be stored is stored with the next message.
"""

import threading
from collections import OrderedDict
from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager, suppress
from dataclasses import dataclass, field, replace
from typing import Final
from uuid import uuid4

from kds.brain.clock import Clock, utc_now
from kds.brain.context.journal import (
    FUTURE_TOLERANCE,
    LIMIT,
    MAX_AGE,
    Journal,
    LoadedContext,
    Marks,
    decode_lines,
    encode,
    refuse_ahead,
    stored_entry,
)
from kds.brain.context.names import within_reach
from kds.brain.errors import LockedError, OutageError, StoreError
from kds.brain.learning.examples import FILE_NAME
from kds.brain.passages.store import insert
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
"""An entry's id, and its line as in a file."""

Named = tuple[str, ContextEntry]
"""An entry with its id: the server knows again what it has, so nothing is stored twice."""


@dataclass(slots=True)
class Known:
    """What the process knows of a conversation."""

    entries: tuple[ContextEntry, ...] = ()
    waiting: dict[str, ContextEntry] = field(default_factory=dict)
    """By id: not stored yet. They end with the process."""

    def drop(self, named: Iterable[Named]) -> None:
        """Forget those that were stored, or that nobody wants any more."""
        for one, _ in named:
            self.waiting.pop(one, None)


@dataclass(slots=True)
class _Turn:
    """A turn that holds its conversation."""

    connection: Connection
    transaction: ExitStack
    logged: list[Named] = field(default_factory=list)
    failure: OutageError | None = None
    """What ended the transaction before the turn: it goes on, and asks the server no more."""


class PostgresContexts:
    """The contexts of all conversations of a tenant."""

    def __init__(
        self,
        tenancy: Callable[[], Tenancy],
        *,
        clock: Clock = utc_now,
        close: Callable[[], object] = bool,
    ) -> None:
        """``tenancy`` finds the tenant; it raises StoreError as long as the server is away."""
        self._close = close
        self.clock = clock
        self._find = tenancy
        self._tenancy: Tenancy | None = None
        self._marks: Marks | None = None
        self._known: OrderedDict[str, Known] = OrderedDict()
        self._lock = threading.Lock()
        self.late: set[str] = set()
        """Conversations of which this process could not store something."""

    @classmethod
    def of(cls, shared: SharedDatabase, *, clock: Clock = utc_now) -> "PostgresContexts":
        """Return the contexts of a workspace on its server; that is asked later."""
        server = shared.server()

        def tenancy() -> Tenancy:
            return Tenancy(server, tenant_number(server, shared.tenant), clock=clock)

        return cls(tenancy, clock=clock, close=server.close)

    def close(self) -> None:
        """Let go of the server. Closing twice is fine."""
        close, self._close = self._close, bool
        close()

    def journal(self, conversation: str, *, origin: str | None = None) -> Journal:
        """The context of a conversation, by the name that its file would have."""
        return PostgresJournal(self, conversation, origin=origin)

    def catch_up(self) -> None:
        """Store what waits, of all conversations. Raises OutageError while that cannot be."""
        for conversation in tuple(self.late):
            self.late.discard(conversation)
            try:
                PostgresJournal(self, conversation).catch_up()
            except OutageError:
                self.late.add(conversation)
                raise

    def known(self, conversation: str) -> Known:
        """What the process knows of a conversation; the least used one that was stored goes."""
        with self._lock:
            found = self._known.setdefault(conversation, Known())
            self._known.move_to_end(conversation)
            if len(self._known) > REMEMBERED:
                stored = (name for name, one in self._known.items() if not one.waiting)
                self._known.pop(next(stored, conversation), None)
            return found

    def marks(self, *, look: bool) -> Marks | None:
        """What the last turn saw of what was learned; with ``look`` it is asked for now."""
        if look:
            with suppress(OutageError), self.reading() as connection:
                self._note_marks(connection)
        return self._marks

    def _note_marks(self, connection: Connection) -> None:
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
            self._note_marks(connection)
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
        self._turn = threading.local()

    @property
    def _held(self) -> _Turn | None:
        """The turn that this thread is in, if it is in one."""
        held: _Turn | None = getattr(self._turn, "held", None)
        return held

    @contextmanager
    def alone(self) -> Iterator[None]:
        """Keep other services out of this conversation; all of the turn is stored, or nothing.

        While the server is away nobody can be kept out. Within it, it may be begun again.
        Raises LockedError when somebody else holds the conversation for long.
        """
        transaction = ExitStack()
        held = None
        if self._held is None:
            try:
                held = _Turn(transaction.enter_context(self._lent()), transaction)
            except LockedError:
                raise
            except OutageError:
                pass
        if held is None:
            yield
            return
        known = self._contexts.known(self._conversation)
        self._turn.held = held
        whole = False
        try:
            with transaction:
                try:
                    yield
                finally:
                    self._turn.held = None
                whole = True
        except OutageError as error:
            if not whole:
                raise
            held.failure = error
        if held.failure is None:
            known.drop(held.logged)
        elif held.logged:  # perhaps it was stored: its id tells, with the next message
            known.waiting = {**dict(held.logged), **known.waiting}
            self._contexts.late.add(self._conversation)

    def load(self) -> LoadedContext:
        """Return what holds now, oldest first; while the server is away, what the process knows."""
        known = self._contexts.known(self._conversation)
        try:
            with self._lent(writes=False) as connection:
                rows = self._rows(connection)
        except OutageError as error:
            return self._without(known, error)
        stored = _entries(rows)
        ids = {one for one, _ in rows}
        waiting = tuple(entry for one, entry in self._due(known) if one not in ids)
        known.entries = (*stored.entries, *waiting)[-LIMIT:]
        return self._in_reach(replace(stored, entries=known.entries))

    def log(self, entry: ContextEntry, *, fresh: bool = False) -> LoadedContext:
        """Add ``entry`` and return what holds then; ``fresh`` drops the earlier ones in its reach.

        While the server is away it waits, and is stored with the next message. Raises StoreError
        when it is dated ahead.
        """
        stored = stored_entry(replace(entry, origin=entry.origin or self._origin))
        refuse_ahead(entry, self._contexts.clock(), where="the conversation context")
        known = self._contexts.known(self._conversation)
        new = (uuid4().hex, stored)
        waiting = self._due(known)
        try:
            with self._lent() as connection:
                kept = _out_of_reach(waiting, stored.origin) if fresh else waiting
                if fresh:
                    self._forget_in_reach(connection, stored.origin)
                loaded = self._store(connection, [*kept, new])
        except OutageError as error:
            earlier = [] if fresh else list(known.waiting.items())
            known.waiting = dict([*earlier, new][-LIMIT:])
            self._contexts.late.add(self._conversation)
            near = within_reach(known.entries, stored.origin) if fresh else ()
            known.entries = (*(one for one in known.entries if one not in near), stored)
            return self._without(known, error)
        if self._held is None:
            known.drop(waiting)
        else:
            self._held.logged += [*waiting, new]
        known.entries = loaded.entries
        return self._in_reach(loaded)

    def catch_up(self) -> None:
        """Store what waits, as the next message would. Raises OutageError while that cannot be."""
        known = self._contexts.known(self._conversation)
        if waiting := self._due(known):
            with self._contexts.writing(self._conversation) as connection:
                self._store(connection, waiting)
            known.drop(waiting)

    def clear(self) -> int:
        """Forget the conversation; returns the number of entries that were dropped."""
        count = len(self.load().entries)
        with self._lent() as connection:
            self._delete(connection, "TRUE")
        known = self._contexts.known(self._conversation)
        known.entries = ()
        known.waiting.clear()
        return count

    @contextmanager
    def _lent(self, *, writes: bool = True) -> Iterator[Connection]:
        """Lend the connection of the turn, else one of its own. Raises OutageError.

        One that fails undoes the turn's transaction, in which nothing more could be done.
        """
        held = self._held
        if held is None:
            own = self._contexts.writing(self._conversation) if writes else self._contexts.reading()
            with own as connection:
                yield connection
            return
        if held.failure is not None:
            raise held.failure
        try:
            yield held.connection
        except OutageError as error:
            held.failure = error
            with suppress(OutageError), held.transaction:
                raise
            raise

    def _store(self, connection: Connection, new: list[Named]) -> LoadedContext:
        rows = [
            (self._conversation, one, to_micros(entry.timestamp), encode(entry).decode())
            for one, entry in new
        ]
        columns = "conversation, id, at, line"
        insert(connection, "context_entry", columns, rows, "ON CONFLICT DO NOTHING")
        # What is too old, or too much, leaves the disk.
        kept = self._rows(connection)
        gone = self._delete(connection, "NOT (id = ANY(?))", [one for one, _ in kept])
        expired = sum(at < self._oldest() for at in gone)
        return replace(_entries(kept), expired=expired, rotated=len(gone) - expired)

    def _forget_in_reach(self, connection: Connection, origin: str | None) -> None:
        """Drop what a message from ``origin`` may refer to: it changes the topic."""
        rows = self._rows(connection)
        named = [(one, entry) for one, line in rows for entry in _entries([(one, line)]).entries]
        far = {one for one, _ in _out_of_reach(named, origin)}
        self._delete(connection, "id = ANY(?)", [one for one, _ in rows if one not in far])

    def _delete(self, connection: Connection, which: str, *ids: list[str]) -> list[int]:
        """Delete rows of the conversation; returns when they were said."""
        query = f"DELETE FROM context_entry WHERE conversation = ? AND {which} RETURNING at"
        return [at for (at,) in connection.execute(query, (self._conversation, *ids)).fetchall()]

    def _in_reach(self, loaded: LoadedContext) -> LoadedContext:
        return replace(loaded, entries=within_reach(loaded.entries, self._origin))

    def _rows(self, connection: Connection) -> list[Row]:
        found = connection.execute(_ROWS, (self._conversation, self._oldest(), LIMIT)).fetchall()
        return found[::-1]

    def _due(self, known: Known) -> list[Named]:
        """Those that wait and hold now: what is too old goes, what is dated ahead waits on."""
        now = self._contexts.clock()
        every = list(known.waiting.items())
        known.drop(one for one in every if now - one[1].timestamp > MAX_AGE)
        return [one for one in every if -FUTURE_TOLERANCE <= now - one[1].timestamp <= MAX_AGE]

    def _oldest(self) -> int:
        return to_micros(self._contexts.clock() - MAX_AGE)

    def _without(self, known: Known, error: StoreError) -> LoadedContext:
        now = self._contexts.clock()
        young = (one for one in known.entries if now - one.timestamp <= MAX_AGE)
        known.entries = tuple(young)[-LIMIT:]
        note = f"{error.message}: the context is what this process knows of it"
        if late := len(known.waiting):
            note += f"; {late} not stored yet, and lost when this process ends"
        return self._in_reach(LoadedContext(known.entries, (note,)))


def _out_of_reach(named: list[Named], origin: str | None) -> list[Named]:
    near = within_reach([entry for _, entry in named], origin)
    return [one for one in named if one[1] not in near]


def _entries(rows: list[Row]) -> LoadedContext:
    lines = list(decode_lines("\n".join(line for _, line in rows).encode()))
    warnings = tuple(f"an entry of the context: {one.damage}" for one in lines if one.damage)
    return LoadedContext(tuple(one.entry for one in lines if one.entry), warnings)
