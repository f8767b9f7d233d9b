"""Deleting so that nothing is left: not in the file, not in its log, not in copies of it.

SQLite deletes by marking space as free, and its log keeps old pages. After a deletion the index
is written anew (it keeps the words of what was deleted until then), the whole file too, and the
log is written back and emptied. A count in the file says that this is due, raised with the
deletion itself: a process that dies in between leaves it to the next one.
"""

import sqlite3
from typing import Final

from kds.brain.errors import StoreError
from kds.brain.files import locked, remove_private
from kds.brain.store.engine import Connection, Engine
from kds.brain.store.sqlite import Database
from kds.brain.store.sqlite_files import backups, set_aside_files
from kds.brain.timeouts import Deadline

PAUSE_S: Final = 0.01
"""Between two attempts to empty the log: about the time another process takes for it."""

BUSY_HINT: Final = "it is gone from all answers; its bytes go when the other process has ended"


def note_scrub(engine: Engine, connection: Connection) -> None:
    """Say, in the transaction that deletes, that bytes are to be removed from the file."""
    if isinstance(engine, Database):
        connection.execute("UPDATE state SET value = value + 1 WHERE key = 'scrub_due'")


def wipe(engine: Engine, *, set_aside_too: bool = False) -> None:
    """Remove the bytes of what was deleted, as `scrub` does; a server does so by itself."""
    if isinstance(engine, Database):
        scrub(engine, set_aside_too=set_aside_too)


def scrub_if_due(database: Database) -> None:
    """Finish what an earlier process began; a process that is at it is not waited for."""
    try:
        if _due(database):
            scrub(database, timeout_s=0)
    except StoreError as error:
        database.warnings += (error.message,)


def scrub(
    database: Database, *, set_aside_too: bool = False, timeout_s: float | None = None
) -> None:
    """Remove the bytes of everything that was deleted from every file of the store.

    The copies that migrations made go whole; damaged files that were set aside only when asked:
    they may be the user's only copy.

    Raises StoreError when another process reads the old state all the time; it stays due.
    """
    deadline = database.timeout_s if timeout_s is None else timeout_s
    with locked(database.path, timeout_s=deadline):
        for copy in backups(database.path):
            remove_private(copy)
        if set_aside_too:
            for file in set_aside_files(database.path):
                remove_private(file)
        due = _due(database)
        if not due:  # another process did it in the meantime
            return
        with database.exclusive() as connection:
            for index in database.kind.indexes:
                connection.execute(f"INSERT INTO {index}({index}) VALUES ('optimize')")
            connection.execute("VACUUM")
            if not log_emptied(connection, timeout_s=deadline):
                raise StoreError(
                    f"what was deleted is still in the log of {database.kind.what}: another "
                    "process reads it",
                    where=str(database.path),
                    hint=BUSY_HINT,
                )
            # Unless more was deleted meanwhile: then it is due again.
            connection.execute(
                "UPDATE state SET value = 0 WHERE key = 'scrub_due' AND value = ?", (due,)
            )


def _due(database: Database) -> int:
    with database.read() as connection:
        row = connection.execute("SELECT value FROM state WHERE key = 'scrub_due'").fetchone()
    if row is None or not isinstance(row[0], int):
        raise StoreError(
            f"{database.kind.what} does not say any more whether deleted bytes are left in it",
            where=str(database.path),
            hint=f"run `{database.kind.rebuild}`; if it stays so, move the file away",
        )
    return row[0]


def log_emptied(connection: sqlite3.Connection, *, timeout_s: float) -> bool:
    """Write the log into the file and cut it to nothing; False when others read it all the time.

    SQLite waits for readers, but not for another process that does the same at the moment.
    """

    def emptied() -> bool:
        return not connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()[0]

    return Deadline(timeout_s).until(emptied, pause_s=PAUSE_S)
