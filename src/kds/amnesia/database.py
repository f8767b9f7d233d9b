"""Databases that other processes have open: copied whole, taken away for good, put back.

A database is taken away by its name: whoever has it open finds another file there, or none, at
its next use, and makes its connections and caches anew (`kds.brain.database.database`). So that the
nameless file that it still holds keeps no bytes either, that is emptied through SQLite, which
every open connection bears.
"""

import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager, suppress
from pathlib import Path
from time import monotonic
from typing import Final

from kds.brain.clock import utc_now
from kds.brain.database.database_file import set_journal_aside
from kds.brain.database.deletion import log_emptied
from kds.brain.database.schema import distrust
from kds.brain.errors import StoreError
from kds.brain.private_file import append_private, locked, remove_private

LOCK_TIMEOUT_S: Final = 30.0
"""How long others may write before we give up, as for any writer of the memory."""

EMPTY_TIMEOUT_S: Final = 2.0
"""How long we wait for readers so that the old file can be emptied. Answers take milliseconds."""


COMPANIONS: Final = ("-wal", "-shm", "-journal")
"""What SQLite keeps beside a database: part of it while it is open, never copied by itself."""

COUNTING_S: Final = 10.0
"""Seconds until a database counts as unreadable: a million rows take one."""


class HeldDatabase:
    """A database that nobody else can write to until the block of `held` ends."""

    def __init__(self, path: Path, connection: sqlite3.Connection | None) -> None:
        self.path = path
        self._connection = connection

    @property
    def is_readable(self) -> bool:
        """Whether SQLite can read it; a damaged one is copied as the bytes it is."""
        return self._connection is not None

    def copy_to(self, target: Path) -> None:
        """Write a consistent copy, mode 0600, without any companions. Raises StoreError."""
        append_private(target, b"")
        try:
            with (
                closing(_connect(self.path)) as source,
                closing(sqlite3.connect(target)) as copy,
            ):
                source.backup(copy)
                if copy.execute("PRAGMA quick_check(1)").fetchone()[0] != "ok":
                    raise StoreError("the copy is damaged", where=str(target))
        except sqlite3.Error as error:
            raise StoreError(f"cannot be copied: {error}", where=str(self.path)) from error

    def take_away(self) -> bool:
        """Remove the database and its companions; False when others keep bytes of it a while."""
        for suffix in ("", *COMPANIONS):
            remove_private(self.path.with_name(self.path.name + suffix))
        return self._connection is None or _emptied(self._connection)


@contextmanager
def held(path: Path) -> Iterator[HeldDatabase]:
    """Keep every other process from writing to, making or replacing the database.

    Raises StoreError when somebody else does so all the time.
    """
    with locked(path, timeout_s=LOCK_TIMEOUT_S):
        set_journal_aside(path, utc_now())
        connection = _writing(path) if path.exists() else None
        try:
            yield HeldDatabase(path, connection)
        finally:
            if connection is not None:
                with suppress(sqlite3.Error):
                    connection.close()


def _writing(path: Path) -> sqlite3.Connection | None:
    """A connection with the write lock, or None when the file is damaged or not SQLite's."""
    connection = _connect(path)
    try:
        connection.execute("BEGIN IMMEDIATE")
        connection.execute("SELECT count(*) FROM sqlite_master").fetchone()
    except sqlite3.OperationalError as error:
        connection.close()
        raise StoreError(
            f"cannot be locked: {error}",
            where=str(path),
            hint="stop what writes to it all the time: kds service stop",
        ) from error
    except sqlite3.DatabaseError:
        connection.close()
        return None
    return connection


def _connect(path: Path) -> sqlite3.Connection:
    uri = f"{path.absolute().as_uri()}?mode=rw"
    connection = sqlite3.connect(uri, uri=True, timeout=LOCK_TIMEOUT_S, isolation_level=None)
    distrust(connection)
    return connection


def _emptied(connection: sqlite3.Connection) -> bool:
    """Replace all pages by those of an empty database, and cut the log to nothing."""
    try:
        connection.execute("ROLLBACK")
        connection.execute(f"PRAGMA busy_timeout = {int(EMPTY_TIMEOUT_S * 1000)}")
        size = connection.execute("PRAGMA page_size").fetchone()[0]
        with closing(sqlite3.connect(":memory:")) as blank:
            blank.execute(f"PRAGMA page_size = {size}")
            blank.execute("VACUUM")
            blank.backup(connection)
        return log_emptied(connection, timeout_s=EMPTY_TIMEOUT_S)
    except sqlite3.Error:
        return False


def count_rows(path: Path, tables: Sequence[tuple[str, str]]) -> dict[str, int]:
    """How many rows each table has, by what they are called; a damaged database counts as one."""
    try:
        log = path.with_name(f"{path.name}-wal")
        # Without a log SQLite needs no files beside, and looking shall make none.
        mode = "mode=ro" if log.exists() and log.stat().st_size else "immutable=1"
        uri = f"{path.absolute().as_uri()}?{mode}"
        with closing(sqlite3.connect(uri, uri=True, timeout=1.0)) as connection:
            distrust(connection)
            ends = monotonic() + COUNTING_S
            connection.set_progress_handler(lambda: monotonic() > ends, 10_000)
            return {
                noun: int(connection.execute(f"SELECT count(*) FROM {table}").fetchone()[0])
                for noun, table in tables
                if _has_table(connection, table)
            }
    except sqlite3.Error:
        return {"unreadable databases": 1}


def _has_table(connection: sqlite3.Connection, table: str) -> bool:
    query = "SELECT 1 FROM sqlite_master WHERE type = 'table' AND name = ?"
    return connection.execute(query, (table,)).fetchone() is not None
