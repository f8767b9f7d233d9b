"""The conversation contexts of one tenant on a server, for any number of services.

A turn holds its conversation: whoever else has a message of it waits, so messages are answered in
order, each with what was said before it. What the server cannot take or give for a while comes from
what this process knows, and every such answer says so; what could not be stored waits in a file,
and is stored with the next message, once, before it, by whichever process.
"""

import threading
from collections import OrderedDict
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, suppress
from hashlib import blake2b
from pathlib import Path
from typing import Final

from kds.brain.clock import Clock, utc_now
from kds.brain.context.conversations import Marks
from kds.brain.context.journal import Journal
from kds.brain.database.engine import Connection
from kds.brain.errors import OutageError
from kds.brain.learning.learned_file import FILE_NAME
from kds.brain.postgres.context_journal import Known, PostgresJournal
from kds.brain.postgres.tenancy import Tenancy, tenant_number
from kds.brain.postgres.waiting import SUFFIX, Waiting
from kds.brain.shared_database import SharedDatabase

REMEMBERED: Final = 1000
"""Conversations whose entries the process keeps for an outage, the latest used."""

_MARKS: Final = "SELECT name, mark FROM kept_text WHERE name = ANY(?)"
_LEARNED: Final = [FILE_NAME]


class PostgresContexts:
    """The contexts of all conversations of a tenant."""

    def __init__(
        self,
        tenancy: Callable[[], Tenancy],
        *,
        clock: Clock = utc_now,
        close: Callable[[], None] = lambda: None,
        waiting: tuple[Path, str] | None = None,
    ) -> None:
        """``tenancy`` finds the tenant; it raises StoreError as long as the server is away.

        ``waiting``: the folder for what waits, and whose it is; None: it waits in the process.
        """
        self._close = close
        self._waiting = waiting
        self.clock = clock
        self._find = tenancy
        self._tenancy: Tenancy | None = None
        self._marks: Marks | None = None
        self._known: OrderedDict[str, Known] = OrderedDict()
        self._lock = threading.Lock()
        self.late: set[str] = set()
        """Conversations of which this process could not store something."""

    @classmethod
    def of(
        cls, shared: SharedDatabase, *, clock: Clock = utc_now, folder: Path | None = None
    ) -> "PostgresContexts":
        """Return the contexts of a workspace on its server; that is asked later.

        In ``folder`` is kept what the server cannot take for a while.
        """
        server = shared.server()

        def tenancy() -> Tenancy:
            return Tenancy(server, tenant_number(server, shared.tenant), clock=clock)

        waiting = None if folder is None else (folder, f"{server.place} {shared.tenant}")
        return cls(tenancy, clock=clock, close=server.close, waiting=waiting)

    def close(self) -> None:
        """Let go of the server. Closing twice is fine."""
        close, self._close = self._close, lambda: None
        close()

    def journal(self, conversation: str, *, origin: str | None = None) -> Journal:
        """The context of a conversation, by the name that its file would have."""
        return PostgresJournal(self, conversation, origin=origin)

    def catch_up(self) -> None:
        """Store what waits, of all conversations. Raises OutageError while that cannot be."""
        for conversation in tuple(self.late):
            PostgresJournal(self, conversation).catch_up()
            self.late.discard(conversation)

    def known(self, conversation: str) -> Known:
        """What the process knows of a conversation; the least used one that was stored goes."""
        with self._lock:
            found = self._known.get(conversation)
            if found is None:
                found = self._known[conversation] = Known(self._waits(conversation))
            self._known.move_to_end(conversation)
            if len(self._known) > REMEMBERED:
                stored = (name for name, one in self._known.items() if not one.waiting.volatile)
                self._known.pop(next(stored, conversation), None)
            return found

    def _waits(self, conversation: str) -> Waiting:
        if self._waiting is None:
            return Waiting()
        folder, whose = self._waiting
        name = blake2b(f"{whose} {conversation}".encode(errors="replace"), digest_size=8)
        return Waiting(folder / f"server-{name.hexdigest()}{SUFFIX}")

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

        Whoever has it knows what others have learned.
        """
        with self._asked().write(lock=conversation) as connection:
            self.note_marks(connection)
            yield connection

    def _asked(self) -> Tenancy:
        if self._tenancy is None:
            self._tenancy = self._find()
        return self._tenancy
