"""One SQLite file: made ready, connected to, and what goes wrong said in words.

Every write is ``BEGIN IMMEDIATE``: a deferred transaction that turns into a writer fails when
somebody else wrote since (measured: 398 of 600 with three writers), an immediate one waits.
Within the process a lock keeps writers in line; between processes SQLite's own does.

``synchronous = FULL``: each commit is on the disk before it is acknowledged. It costs an fsync
(measured: 0.4 ms of CPU and some milliseconds of waiting for the disk, against 0.05 in all);
NORMAL would lose the last messages when the power goes, though not when the process is killed.

Connections hold for one process and one file. After a fork, or when the file was replaced (set
aside by another process, restored from a copy), new ones are made. An ordinary start finds a
present file and takes no lock; it is made, examined and migrated by one process at a time.
"""

import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from pathlib import Path
from threading import Lock
from typing import Final

from kds.brain.clock import Clock, utc_now
from kds.brain.errors import StoreError
from kds.brain.files import PrivateFile, may_write
from kds.brain.store.columns import DamagedRowError
from kds.brain.store.migrations import (
    FileKind,
    add_missing,
    is_ours,
    migrate,
    missing_indexes,
    refuse_foreign,
    trust,
    version_of,
)
from kds.brain.store.sqlite_files import (
    back_up,
    clear_suspect,
    has_journal,
    identity,
    is_suspect,
    make_private,
    mark_suspect,
    set_aside,
    set_journal_aside,
)

TIMEOUT_S: Final = 30.0
"""How long a write waits for other writers. Eight processes that write without a pause keep one
waiting for 2.5 s at worst; who holds the lock this long hangs."""

_ALWAYS: Final = (
    "PRAGMA foreign_keys = ON",
    "PRAGMA synchronous = FULL",
    "PRAGMA secure_delete = ON",
    "PRAGMA cache_size = -16384",  # kiB: the upper levels of the index of 100k messages
    "PRAGMA journal_size_limit = 16777216",  # the log is cut back to it once it was written
)

_KEPT: Final = "nothing that was stored is lost"

_REASONS: Final = {
    sqlite3.SQLITE_BUSY: (
        "another process has kept {what} locked",
        "try again; if it stays so, end the process that uses the file",
    ),
    sqlite3.SQLITE_LOCKED: ("{what} is locked", "try again"),
    sqlite3.SQLITE_FULL: ("the disk is full", f"free some disk space; {_KEPT}"),
    sqlite3.SQLITE_READONLY: (
        "{what} is read-only",
        "give yourself permission to write the file and its folder, or set KDS_HOME to another",
    ),
    sqlite3.SQLITE_PERM: ("no permission", "give yourself permission to read and write the file"),
    sqlite3.SQLITE_CANTOPEN: (
        "the file cannot be opened",
        "see that its folder exists and that you may write there",
    ),
    sqlite3.SQLITE_IOERR: (
        "the disk could not be read or written",
        f"see whether the disk is full or failing; {_KEPT} unless the disk is damaged",
    ),
    sqlite3.SQLITE_CORRUPT: (
        "the file is damaged",
        "open {what} again: it is examined then, and set aside if it is past repair",
    ),
    sqlite3.SQLITE_NOTADB: (
        "the file is not a database",
        "open {what} again: a damaged file is set aside and a new one begun",
    ),
}


_abandoned: Final[list[sqlite3.Connection]] = []
"""Connections of a parent process: kept, so that their destructors do not run."""


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
        self.path, self.kind, self.clock, self.timeout_s = path, kind, clock, timeout_s
        self.warnings: tuple[str, ...] = ()
        self.generation = 0
        """Counts up when connections had to be made anew: what was cached of the file is void."""
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
    def write(self, *, durable: bool = True, ahead: bool = False) -> Iterator[sqlite3.Connection]:
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
                yield self._own_writer()
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
                if _schema_of(connection) != self._schema:
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

    def _own_writer(self) -> sqlite3.Connection:
        self._close_outdated()
        if self._writer is None:
            self._writer, self._durable = self._connect(), True
        # Another program may have dropped a search index while the file was open.
        if _schema_of(self._writer) != self._schema:
            if self._schema is not None:
                self.warnings += _complete(self._writer, self.kind)
            self._schema = _schema_of(self._writer)
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
        connection = self._untrusted()
        trust(connection)  # the file was looked at when it was opened
        for pragma in _ALWAYS:
            connection.execute(pragma)
        return connection

    def _open(self) -> None:
        """See that the file has the present schema; one that cannot have it stays as it was."""
        if self.path.is_symlink():  # somebody else's file must not be taken for ours
            hint = "replace the link by the file, or set KDS_HOME to the workspace it points to"
            raise self._refusal("it is a symbolic link", hint)
        if self.path.exists() and not (self.path.stat().st_mode & 0o222 and may_write(self.path)):
            raise self._refusal("{what} is read-only", "give yourself permission to write it")
        if not self.path.parent.is_dir():
            hint = f"make the folder {self.path.parent}"
            raise self._refusal("its folder does not exist", hint)
        if not self._is_present():
            with PrivateFile(self.path).locked(timeout_s=self.timeout_s):
                self.warnings += (*self._without_journal(), *self._without_damage())
                make_private(self.path)
                try:
                    self.warnings += self._migrated()
                except sqlite3.Error as error:
                    raise store_error(error, self.path, self.kind) from error
        self._identity = identity(self.path)
        self._schema = None

    def _is_present(self) -> bool:
        path = self.path
        if not path.is_file() or is_suspect(path) or has_journal(path):
            return False
        make_private(path)
        try:
            with closing(self._untrusted(timeout_s=1.0)) as connection:
                connection.execute("BEGIN")  # one state of a file that another process is making
                refuse_foreign(connection, path, self.kind)
                current = version_of(connection) == len(self.kind.migrations)
                return current and is_ours(connection, self.kind)
        except sqlite3.Error:  # whatever it is, it is found again under the lock
            return False

    def _without_journal(self) -> Iterator[str]:
        """Set a foreign rollback journal aside before SQLite can see it."""
        if aside := set_journal_aside(self.path, self.clock()):
            what = f"a rollback journal that KDS did not make lay beside the file of {self._what}"
            yield f"{what}; it is kept as {aside.name}"

    def _without_damage(self) -> Iterator[str]:
        """Set a damaged file aside, and a log whose file is gone."""
        path = self.path
        orphaned = not path.exists() and path.with_name(f"{path.name}-wal").exists()
        if not (path.exists() or orphaned):
            return
        if not orphaned and self._is_sound():
            clear_suspect(path)
            return
        target = set_aside(path, self.clock())
        clear_suspect(path)
        damaged = f"{self._what} was damaged, or not made by KDS"
        what = f"the file of {self._what} was gone" if orphaned else damaged
        yield f"{what}; what was left is kept as {target.name}, and a new one was begun"

    def _is_sound(self) -> bool:
        try:
            with closing(self._untrusted()) as connection:
                refuse_foreign(connection, self.path, self.kind)
                if not (is_ours(connection, self.kind) or missing_indexes(connection, self.kind)):
                    return False
                return not is_suspect(self.path) or is_file_sound(connection)
        except sqlite3.Error as error:
            if is_damage(error):
                return False
            raise store_error(error, self.path, self.kind) from error

    def _migrated(self) -> tuple[str, ...]:
        with closing(self._untrusted()) as connection:
            refuse_foreign(connection, self.path, self.kind)
            version = version_of(connection)
            if version == len(self.kind.migrations):
                return _complete(connection, self.kind)
            trust(connection)  # it was looked at before
            connection.execute("PRAGMA journal_mode = WAL")
            connection.execute("PRAGMA foreign_keys = OFF")  # steps may make tables anew
            copy = back_up(connection, self.path, version, self.clock()) if version else None
            migrate(connection, self.kind.migrations)
        if copy is None:
            return ()
        return (f"{self._what} was brought up to date; the earlier one is kept as {copy.name}",)

    def _untrusted(self, *, timeout_s: float | None = None) -> sqlite3.Connection:
        """Open the file, which must exist: SQLite would make it readable for everybody.

        In autocommit mode: transactions are begun explicitly.
        """
        connection = sqlite3.connect(
            f"{self.path.absolute().as_uri()}?mode=rw",
            uri=True,
            timeout=self.timeout_s if timeout_s is None else timeout_s,
            isolation_level=None,
            check_same_thread=False,
        )
        trust(connection, trusted=False)
        return connection

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

    @property
    def _what(self) -> str:
        return self.kind.what

    def _refusal(self, message: str, hint: str) -> StoreError:
        return StoreError(message.replace("{what}", self._what), where=self.place, hint=hint)


def is_file_sound(connection: sqlite3.Connection) -> bool:
    """Examine the whole file. The search index in it does not count: it can be made anew."""
    try:
        rows = connection.execute("PRAGMA quick_check(100)").fetchall()
    except sqlite3.DatabaseError as error:
        if is_damage(error):
            return False
        raise
    # From version 3.44 on SQLite examines the index as well.
    return all(row[0] == "ok" or "fts5" in row[0].lower() for row in rows)


def _schema_of(connection: sqlite3.Connection) -> int:
    """Return SQLite's count of changes to the definitions in the file."""
    return int(connection.execute("PRAGMA schema_version").fetchone()[0])


def _complete(connection: sqlite3.Connection, kind: FileKind) -> tuple[str, ...]:
    """Make the indexes anew that somebody has dropped: what they were made of is all there."""
    connection.execute("BEGIN IMMEDIATE")
    try:
        if missing := missing_indexes(connection, kind):
            add_missing(connection, kind, missing)
        connection.execute("COMMIT")
    except BaseException:
        connection.execute("ROLLBACK")
        raise
    if not missing:
        return ()
    connection.execute("VACUUM")  # what is left of the lost ones
    return (f"a search index of {kind.what} was missing and has been made anew",)


def is_damage(error: BaseException | None) -> bool:
    """Tell whether an error says that the file is damaged, or only the search index in it.

    SQLite does not always say which of the two: `is_file_sound` finds out.
    """
    code = getattr(error, "sqlite_errorcode", 0) or 0
    return code & 0xFF in (sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB)


def store_error(error: sqlite3.Error, path: Path, kind: FileKind) -> StoreError:
    """Say what SQLite found wrong with the file at ``path``."""
    code = (getattr(error, "sqlite_errorcode", 0) or 0) & 0xFF
    if code == sqlite3.SQLITE_CANTOPEN and path.is_dir():
        message, hint = "it is a folder", "move it away: KDS makes a new file"
    elif code in _REASONS:
        message, hint = _REASONS[code]
    elif isinstance(error, DamagedRowError) or "Could not decode to UTF-8" in str(error):
        message = f"a row of {{what}} is damaged: {error}"
        hint = f"put a copy of {path.name} back, or move it away: {{what}} begins anew then"
    elif "no such module: fts5" in str(error):
        message = f"SQLite {sqlite3.sqlite_version} of this Python was built without FTS5"
        hint = "use a Python whose sqlite3 has FTS5: those of python.org, uv, conda and Debian do"
    elif "closed database" in str(error):
        message, hint = "{what} was closed", "open it again"
    else:
        message = f"{{what}} cannot do that: {error}"
        hint = f"see the reason above; `{kind.rebuild}` examines the whole file"
    message, hint = (text.replace("{what}", kind.what) for text in (message, hint))
    return StoreError(message, where=str(path), hint=hint)
