"""Connections to the one file: one that writes, as many that read as read at once.

Every write is ``BEGIN IMMEDIATE``: a deferred transaction that turns into a writer fails when
somebody else wrote since (measured: 398 of 600 with three writers), an immediate one waits.
Within the process a lock keeps writers in line; between processes SQLite's own does.

``synchronous = FULL``: each commit is on the disk before it is acknowledged. It costs an fsync
(measured: 0.4 ms of CPU and some milliseconds of waiting for the disk, against 0.05 in all);
NORMAL would lose the last messages when the power goes, though not when the process is killed.

Connections hold for one process and one file. After a fork, or when the file was replaced (set
aside by another process, restored from a copy), new ones are made.
"""

import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from threading import Lock
from typing import Final

from kds.brain.clock import Clock, utc_now
from kds.brain.errors import StoreError
from kds.brain.files import is_read_only
from kds.brain.store.migrations import FileKind, trust
from kds.brain.store.sqlite_errors import is_damage, store_error
from kds.brain.store.sqlite_files import identity, mark_suspect
from kds.brain.store.sqlite_opening import (
    complete,
    connect,
    prepare,
    refuse_link,
    schema_of,
)

TIMEOUT_S: Final = 30.0
"""How long a write waits for other writers. Eight processes that write without a pause keep one
waiting for 2.5 s at worst; who holds the lock this long hangs."""

CACHE_KIB: Final = 16 * 1024
"""Of pages, a connection: the upper levels of the index of 100k messages."""

LOG_LIMIT: Final = 16 * 2**20
"""Bytes to which SQLite cuts its log back once it was written into the file."""

_ALWAYS: Final = (
    "PRAGMA foreign_keys = ON",
    "PRAGMA synchronous = FULL",
    "PRAGMA secure_delete = ON",
    f"PRAGMA cache_size = -{CACHE_KIB}",
    f"PRAGMA journal_size_limit = {LOG_LIMIT}",
)


class Database:
    """One database file, for every thread of the process."""

    def __init__(
        self,
        path: Path,
        kind: FileKind,
        *,
        clock: Clock = utc_now,
        timeout_s: float = TIMEOUT_S,
    ) -> None:
        """Open or make the file. Raises StoreError."""
        self.path = path
        self.kind = kind
        self.clock = clock
        self.warnings: tuple[str, ...] = ()
        self.generation = 0
        """Counts up when connections had to be made anew: what was cached of the file is void."""
        self.timeout_s = timeout_s
        self._writing = Lock()
        self._pooling = Lock()
        self._writer: sqlite3.Connection | None = None
        self._readers: list[sqlite3.Connection] = []
        self._outdated: list[sqlite3.Connection] = []
        self._durable = True
        self._closed = False
        self._schema: int | None = None
        """SQLite's count of changes to the definitions, when they were last looked at."""
        self._open()

    @property
    def place(self) -> str:
        """The file, as errors name it."""
        return str(self.path)

    @contextmanager
    def write(self, *, durable: bool = True) -> Iterator[sqlite3.Connection]:
        """Lend the writing connection for one transaction: all of it is stored, or nothing.

        Not ``durable``: it outlives the process, but perhaps not a power cut. For what nobody
        would miss.
        """
        with self.exclusive() as connection:
            if durable != self._durable:
                connection.execute(f"PRAGMA synchronous = {'FULL' if durable else 'NORMAL'}")
                self._durable = durable
            connection.execute("BEGIN IMMEDIATE")
            try:
                yield connection
                connection.execute("COMMIT")
            except BaseException:
                # Some errors (a full disk) have ended the transaction already.
                if connection.in_transaction:
                    with suppress(sqlite3.Error):
                        connection.execute("ROLLBACK")
                raise

    @contextmanager
    def exclusive(self) -> Iterator[sqlite3.Connection]:
        """Lend the writing connection outside a transaction, for maintenance."""
        if not self._writing.acquire(timeout=self.timeout_s):
            raise self._refusal("another thread has kept {what} locked", "try again")
        try:
            with self._translated():
                self._renew()
                writer = self._own_writer()
                self._complete(writer)
                yield writer
        finally:
            self._writing.release()

    @contextmanager
    def read(self) -> Iterator[sqlite3.Connection]:
        """Lend a reading connection; everything read within sees one state of the file."""
        with self._translated():
            self._renew()
            generation = self.generation
            connection = self._take()
            try:
                if schema_of(connection) != self._schema:
                    with self.exclusive():
                        pass  # which makes anew what was dropped
                connection.execute("BEGIN")
                yield connection
            finally:
                self._give_back(connection, generation)

    def close(self) -> None:
        """Close every connection. The last one to close writes the log into the file."""
        self._closed = True
        with self._writing, self._pooling:
            self._drop(abandon=False)
            self._close_outdated()

    def _complete(self, writer: sqlite3.Connection) -> None:
        """Make a search index anew that another program has dropped while the file was open."""
        if schema_of(writer) == self._schema:
            return
        if self._schema is not None:
            self.warnings += complete(writer, self.kind)
        self._schema = schema_of(writer)

    def _own_writer(self) -> sqlite3.Connection:
        self._close_outdated()
        if self._writer is None:
            self._writer = self._connect()
            self._durable = True
        return self._writer

    def _take(self) -> sqlite3.Connection:
        with self._pooling:
            if self._readers:
                return self._readers.pop()
        connection = self._connect()
        connection.execute("PRAGMA query_only = ON")
        return connection

    def _give_back(self, connection: sqlite3.Connection, generation: int) -> None:
        try:
            if connection.in_transaction:
                connection.execute("ROLLBACK")
        except sqlite3.Error:  # nothing was written; a fresh connection will do better
            connection.close()
            return
        with self._pooling:
            if generation == self.generation and not self._closed:
                self._readers.append(connection)
                return
        connection.close()

    def _connect(self) -> sqlite3.Connection:
        connection = connect(self.path, timeout_s=self.timeout_s)
        trust(connection)  # the file was looked at when it was opened
        for pragma in _ALWAYS:
            connection.execute(pragma)
        return connection

    def _open(self) -> None:
        refuse_link(self.path)
        if is_read_only(self.path):
            raise self._refusal("{what} is read-only", "give yourself permission to write it")
        self.warnings += prepare(self.path, self.kind, clock=self.clock, timeout_s=self.timeout_s)
        self._identity = identity(self.path)
        self._schema = None

    def _renew(self) -> None:
        """Make new connections when these are another process's, or another file's."""
        if self._closed:
            raise self._refusal("{what} was closed", "open it again")
        present = identity(self.path)
        if present == self._identity:
            return
        with self._pooling:
            if present == self._identity:  # another thread was first
                return
            forked = present[0] != self._identity[0]
            self._drop(abandon=forked)
            self.generation += 1
            self._open()

    def _drop(self, *, abandon: bool) -> None:
        """Part with what is idle. What a parent process opened must not even be closed."""
        # The writer may be at work in another thread: the next holder of the lock closes it.
        dropped = [*self._readers, *([self._writer] if self._writer else [])]
        self._readers, self._writer = [], None
        (_abandoned if abandon else self._outdated).extend(dropped)

    def _close_outdated(self) -> None:
        while self._outdated:
            with suppress(sqlite3.Error):
                self._outdated.pop().close()

    @contextmanager
    def _translated(self) -> Iterator[None]:
        try:
            yield
        except sqlite3.Error as error:
            if is_damage(error):
                mark_suspect(self.path)
            raise store_error(error, self.path, self.kind) from error

    def _refusal(self, message: str, hint: str) -> StoreError:
        message = message.replace("{what}", self.kind.what)
        return StoreError(message, where=str(self.path), hint=hint)


_abandoned: Final[list[sqlite3.Connection]] = []
"""Connections of a parent process: kept, so that their destructors do not run."""
