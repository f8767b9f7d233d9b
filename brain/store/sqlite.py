"""One SQLite file: made ready, connected to, and what goes wrong said in words.

Every write is ``BEGIN IMMEDIATE``: a deferred transaction that turns into a writer fails when
somebody else wrote since (measured: 398 of 600 with three writers), an immediate one waits.
Within the process a lock keeps writers in line; between processes SQLite's own does.

``synchronous = FULL``: each commit is on the disk before it is acknowledged. It costs an fsync
(measured: 0.4 ms of CPU and some milliseconds of waiting for the disk, against 0.05 in all);
NORMAL would lose the last messages when the power goes, though not when the process is killed.

Connections hold for one process and one file. After a fork, or when the file was replaced (set
aside, restored from a copy), new ones are made. An ordinary start finds a present file and takes no
lock; it is made and migrated by one process at a time. A file that is damaged, or not ours, is
refused and stays as it is.

SQLite deletes by marking space as free, and its log keeps old pages. After a deletion the index
is written anew (it keeps the words of what was deleted until then), the whole file too, and the
log is written back and emptied. A count in the file says that this is due, raised with the
deletion itself: a process that dies in between leaves it to the next one.
"""

import os
import sqlite3
from collections.abc import Iterator
from contextlib import AbstractContextManager, closing, contextmanager, nullcontext, suppress
from datetime import datetime
from pathlib import Path
from threading import Lock
from typing import Any, Final

from kds.brain.clock import Clock, utc_now
from kds.brain.errors import StoreError
from kds.brain.files import PRIVATE, PrivateFile, failure, may_write
from kds.brain.store.columns import DamagedRowError
from kds.brain.store.engine import Connection
from kds.brain.store.migrations import (
    FileKind,
    is_ours,
    lacks_indexes,
    migrate,
    refuse_foreign,
    remake_indexes,
    trust,
    version_of,
)
from kds.brain.timeouts import Deadline

TIMEOUT_S: Final = 30.0
"""How long a write waits for other writers. Eight processes that write without a pause keep one
waiting for 2.5 s at worst; who holds the lock this long hangs."""

PAUSE_S: Final = 0.01
"""Between two attempts to empty the log: about the time another process takes for it."""

_ALWAYS: Final = (
    "PRAGMA foreign_keys = ON",
    "PRAGMA synchronous = FULL",
    "PRAGMA secure_delete = ON",
    "PRAGMA cache_size = -16384",  # kiB: the upper levels of the index of 100k messages
    "PRAGMA journal_size_limit = 16777216",  # the log is cut back to it once it was written
)

_KEPT: Final = "nothing that was stored is lost"
_MOVE: Final = "put a copy of it back, or move it away: {what} begins anew then"

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
    sqlite3.SQLITE_CORRUPT: ("the file is damaged", _MOVE),
    sqlite3.SQLITE_NOTADB: ("the file is damaged: it is not a database", _MOVE),
}


_abandoned: Final[list[sqlite3.Connection]] = []
"""Connections of a parent process: kept, so that their destructors do not run."""


class Database:
    """One database file, for every thread of the process."""

    def __init__(self, path: Path, kind: FileKind, *, clock: Clock = utc_now) -> None:
        """Open or make the file. Raises StoreError."""
        self.path, self.kind, self.clock = path, kind, clock
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
        if not self._writing.acquire(timeout=TIMEOUT_S):
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
                connection.execute("BEGIN")
                yield connection
            finally:
                self._give_back(connection, generation)

    def together(self) -> AbstractContextManager[object]:
        """Nothing to do: to begin costs nothing."""
        return nullcontext()

    def leaves_bytes(self, connection: Connection) -> None:
        """Note, within the transaction, that the bytes of what it deletes are left."""
        connection.execute(
            "INSERT INTO state(key, value) VALUES ('scrub_due', 1) "
            "ON CONFLICT(key) DO UPDATE SET value = value + 1"
        )

    def wipe(self, *, timeout_s: float = TIMEOUT_S) -> None:
        """Remove the bytes of everything that was deleted from every file of the store.

        The copies that migrations made go whole.

        Raises StoreError when another process reads the old state all the time; it stays due.
        """
        with PrivateFile(self.path).locked(timeout_s=timeout_s):
            for copy in backups(self.path):
                PrivateFile(copy).remove()
            if (due := self._wipes_due()) is None:  # another process did it in the meantime
                return
            with self.exclusive() as connection:
                for index in self.kind.indexes:
                    connection.execute(f"INSERT INTO {index}({index}) VALUES ('optimize')")
                connection.execute("VACUUM")
                # The time begins here: the VACUUM of a large file takes long.
                if not Deadline(timeout_s).until(lambda: _empty_log(connection), pause_s=PAUSE_S):
                    raise self._refusal(
                        "what was deleted is still in the log of {what}: another process reads it",
                        "it is gone from all answers; its bytes go when that process has ended",
                    )
                # Unless more was deleted meanwhile: then it is due again.
                query = "UPDATE state SET value = 0 WHERE key = 'scrub_due' AND value = ?"
                connection.execute(query, (due,))

    def wipe_if_due(self) -> None:
        """Finish what an earlier process began; a process that is at it is not waited for."""
        try:
            if self._wipes_due() is not None:
                self.wipe(timeout_s=0)
        except StoreError as error:
            self.warnings += (error.message,)

    def _wipes_due(self) -> Any:
        """Return the count of deletions whose bytes are left; None for none."""
        query = "SELECT value FROM state WHERE key = 'scrub_due' AND value <> 0"
        with self.read() as connection:
            row = connection.execute(query).fetchone()
        return row and row[0]

    def rebuild(self) -> None:
        """Make the search indexes anew."""
        with self.exclusive() as connection:
            self._remake_indexes(connection)

    def mend(self, error: StoreError) -> bool:
        """Make the search index anew if ``error`` says that it is damaged or missing; tells
        whether it was. A file that is damaged itself stays as it is."""
        cause, parts = error.__cause__, (*self.kind.indexes, *self.kind.vocabularies)
        missing = "no such" in str(cause) and any(one in str(cause) for one in parts)
        if not (missing or is_damage(cause)):
            return False
        with self.exclusive() as connection:
            if not is_file_sound(connection):
                return False
            self._remake_indexes(connection)
        self._warn("the search index was damaged and has been made anew")
        return True

    def _remake_indexes(self, connection: sqlite3.Connection) -> None:
        connection.execute("BEGIN IMMEDIATE")
        try:
            remake_indexes(connection, self.kind)
            connection.execute("COMMIT")
        except BaseException:
            connection.execute("ROLLBACK")
            raise
        connection.execute("VACUUM")

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
        path = self.path
        if path.is_symlink():  # somebody else's file must not be taken for ours
            hint = "replace the link by the file, or set KDS_HOME to the workspace it points to"
            raise self._refusal("it is a symbolic link", hint)
        if path.exists() and not (path.stat().st_mode & 0o222 and may_write(path)):
            raise self._refusal("{what} is read-only", "give yourself permission to write it")
        if not path.parent.is_dir():
            hint = f"make the folder {path.parent}"
            raise self._refusal("its folder does not exist", hint)
        if not self._is_present():
            with PrivateFile(path).locked(timeout_s=TIMEOUT_S):
                self._set_journal_aside()
                if not path.exists() and os.path.lexists(f"{path}-wal"):
                    hint = f"put it back, or remove {path.name}-wal"
                    raise self._refusal(f"{path.name} is gone, and its log is there", hint)
                make_private(path)
                try:
                    self._migrate()
                except sqlite3.Error as error:
                    raise store_error(error, path, self.kind) from error
        self._identity = identity(path)

    def _set_journal_aside(self) -> None:
        """Set a rollback journal aside, which KDS does not leave: SQLite plays one back, and then
        deletes whatever file its end names."""
        if os.path.lexists(journal := f"{self.path}-journal"):
            try:
                aside = Path(journal).rename(f"{self.path}.bad-{os.urandom(3).hex()}.journal")
            except OSError as error:
                raise failure("set aside", Path(journal), error) from error
            self._warn(f"a rollback journal lay beside the file of {{what}}; it is now {aside}")

    def _is_present(self) -> bool:
        if not self.path.is_file() or os.path.lexists(f"{self.path}-journal"):
            return False
        make_private(self.path)
        try:
            with closing(self._untrusted(timeout_s=1.0)) as connection:
                connection.execute("BEGIN")  # one state of a file that another process is making
                refuse_foreign(connection, self.path, self.kind)
                current = version_of(connection) == len(self.kind.migrations)
                return current and is_ours(connection, self.kind)
        except sqlite3.Error:  # whatever it is, it is found again under the lock
            return False

    def _migrate(self) -> None:
        with closing(self._untrusted()) as connection:
            refuse_foreign(connection, self.path, self.kind)
            version = version_of(connection)
            if lacks_indexes(connection, self.kind):  # what they were made of is all there
                trust(connection)
                self._remake_indexes(connection)
                self._warn("a search index of {what} was missing and has been made anew")
            if not is_ours(connection, self.kind):
                raise self._refusal("it was damaged, or not made by KDS", _MOVE)
            if version == len(self.kind.migrations):
                return
            trust(connection)
            connection.execute("PRAGMA journal_mode = WAL")
            connection.execute("PRAGMA foreign_keys = OFF")  # steps may make tables anew
            copy = back_up(connection, self.path, version, self.clock()) if version else None
            migrate(connection, self.kind.migrations)
        if copy is not None:
            self._warn(f"{{what}} was brought up to date; the earlier one is kept as {copy.name}")

    def _untrusted(self, *, timeout_s: float = TIMEOUT_S) -> sqlite3.Connection:
        """Open the file, which must exist: SQLite would make it readable for everybody.

        In autocommit mode: transactions are begun explicitly.
        """
        connection = sqlite3.connect(
            f"{self.path.absolute().as_uri()}?mode=rw",
            uri=True,
            timeout=timeout_s,
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
            raise store_error(error, self.path, self.kind) from error

    def _warn(self, text: str) -> None:
        self.warnings += (text.replace("{what}", self.kind.what),)

    def _refusal(self, message: str, hint: str) -> StoreError:
        told, way = (text.replace("{what}", self.kind.what) for text in (message, hint))
        return StoreError(told, where=self.place, hint=way)


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


def _empty_log(connection: sqlite3.Connection) -> bool:
    """Write the log into the file and cut it to nothing; False when others read it at the moment.

    SQLite waits for readers, but not for another process that does the same.
    """
    return not connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()[0]


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
        message, hint = f"a row of {{what}} is damaged: {error}", _MOVE
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


_BACKUP: Final = ".backup-"


def make_private(path: Path) -> None:
    """Make an empty file with mode 0600 if there is none; SQLite's companions take its mode."""
    if not (path.is_file() and path.stat().st_mode & 0o777 == PRIVATE):
        PrivateFile(path).append(b"")


def back_up(connection: sqlite3.Connection, path: Path, version: int, now: datetime) -> Path:
    """Copy the whole database, private, before a migration; returns the copy's path."""
    target = path.with_name(f"{path.name}{_BACKUP}v{version}-{now:%Y%m%dT%H%M%SZ}")
    beside = path.with_name(f".{target.name}.tmp")
    PrivateFile(beside).remove()
    PrivateFile(beside).append(b"")
    try:
        with closing(sqlite3.connect(beside)) as copy:
            connection.backup(copy)
        beside.replace(target)
    except OSError as error:
        raise failure("back up", path, error) from error
    finally:
        beside.unlink(missing_ok=True)
    return target


def backups(path: Path) -> tuple[Path, ...]:
    """Return the copies that migrations made, oldest first."""
    return tuple(sorted(path.parent.glob(f"{path.name}{_BACKUP}*")))


def all_files(path: Path) -> tuple[Path, ...]:
    """Return every file of the store that exists: database, companions, copies."""
    own = (path.with_name(path.name + suffix) for suffix in ("", "-wal", "-shm"))
    return (*filter(Path.exists, own), *backups(path))


def identity(path: Path) -> tuple[int, int, int]:
    """Say which process sees which file: connections hold for one of these only."""
    try:
        status = path.stat()
    except OSError:
        return os.getpid(), 0, 0
    return os.getpid(), status.st_dev, status.st_ino
