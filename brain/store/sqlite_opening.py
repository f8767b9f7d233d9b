"""Getting the file ready for use: made, examined, migrated. One process at a time.

An ordinary start finds a present file and takes no lock.
"""

import sqlite3
from contextlib import closing
from pathlib import Path

from kds.brain.clock import Clock
from kds.brain.errors import StoreError
from kds.brain.files import locked
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
from kds.brain.store.sqlite_errors import is_damage, store_error
from kds.brain.store.sqlite_files import (
    back_up,
    clear_suspect,
    has_journal,
    is_suspect,
    make_private,
    set_aside,
    set_journal_aside,
)


def prepare(path: Path, kind: FileKind, *, clock: Clock, timeout_s: float) -> tuple[str, ...]:
    """See that ``path`` is a database with the present schema; returns what had to be done.

    Raises StoreError when it cannot be, with the file as it was.
    """
    if not path.parent.is_dir():
        raise StoreError(
            "its folder does not exist", where=str(path), hint=f"make the folder {path.parent}"
        )
    if _is_present(path, kind):
        return ()
    with locked(path, timeout_s=timeout_s):
        warnings = _without_journal(path, clock, kind)
        warnings += _without_damage(path, clock, timeout_s, kind)
        make_private(path)
        try:
            warnings += _migrated(path, clock, timeout_s, kind)
        except sqlite3.Error as error:
            raise store_error(error, path, kind) from error
    return warnings


def connect(path: Path, *, timeout_s: float) -> sqlite3.Connection:
    """Open the file, which must exist: SQLite would make it readable for everybody.

    In autocommit mode: transactions are begun explicitly.
    """
    connection = sqlite3.connect(
        f"{path.absolute().as_uri()}?mode=rw",
        uri=True,
        timeout=timeout_s,
        isolation_level=None,
        check_same_thread=False,
    )
    trust(connection, trusted=False)
    return connection


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


def refuse_link(path: Path) -> None:
    """Raise StoreError for a symbolic link: somebody else's file must not be taken for ours."""
    if path.is_symlink():
        raise StoreError(
            "it is a symbolic link",
            where=str(path),
            hint="replace the link by the file, or set KDS_HOME to the workspace it points to",
        )


def _is_present(path: Path, kind: FileKind) -> bool:
    if not path.is_file() or is_suspect(path) or has_journal(path):
        return False
    make_private(path)
    try:
        with closing(connect(path, timeout_s=1.0)) as connection:
            connection.execute("BEGIN")  # one state of a file that another process is making
            refuse_foreign(connection, path, kind)
            return version_of(connection) == len(kind.migrations) and is_ours(connection, kind)
    except sqlite3.Error:  # whatever it is, it is found again under the lock
        return False


def _without_journal(path: Path, clock: Clock, kind: FileKind) -> tuple[str, ...]:
    """Set a foreign rollback journal aside before SQLite can see it."""
    aside = set_journal_aside(path, clock())
    what = f"a rollback journal that KDS did not make lay beside the file of {kind.what}"
    return () if aside is None else (f"{what}; it is kept as {aside.name}",)


def _without_damage(path: Path, clock: Clock, timeout_s: float, kind: FileKind) -> tuple[str, ...]:
    """Set a damaged file aside, and a log whose file is gone."""
    orphaned = not path.exists() and path.with_name(f"{path.name}-wal").exists()
    if not (path.exists() or orphaned):
        return ()
    if not orphaned and _is_sound(path, timeout_s, kind):
        clear_suspect(path)
        return ()
    target = set_aside(path, clock())
    clear_suspect(path)
    damaged = f"{kind.what} was damaged, or not made by KDS"
    what = f"the file of {kind.what} was gone" if orphaned else damaged
    return (f"{what}; what was left is kept as {target.name}, and a new one was begun",)


def _is_sound(path: Path, timeout_s: float, kind: FileKind) -> bool:
    try:
        with closing(connect(path, timeout_s=timeout_s)) as connection:
            refuse_foreign(connection, path, kind)
            if not (is_ours(connection, kind) or missing_indexes(connection, kind)):
                return False
            return not is_suspect(path) or is_file_sound(connection)
    except sqlite3.Error as error:
        if is_damage(error):
            return False
        raise store_error(error, path, kind) from error


def _migrated(path: Path, clock: Clock, timeout_s: float, kind: FileKind) -> tuple[str, ...]:
    with closing(connect(path, timeout_s=timeout_s)) as connection:
        refuse_foreign(connection, path, kind)
        version = version_of(connection)
        if version == len(kind.migrations):
            return complete(connection, kind)
        trust(connection)  # it was looked at before
        connection.execute("PRAGMA journal_mode = WAL")
        connection.execute("PRAGMA foreign_keys = OFF")  # steps may make tables anew
        if version == 0:
            migrate(connection, kind.migrations)
            return ()
        copy = back_up(connection, path, version, clock())
        migrate(connection, kind.migrations)
        return (f"{kind.what} was brought up to date; the earlier one is kept as {copy.name}",)


def schema_of(connection: sqlite3.Connection) -> int:
    """Return SQLite's count of changes to the definitions in the file."""
    return int(connection.execute("PRAGMA schema_version").fetchone()[0])


def complete(connection: sqlite3.Connection, kind: FileKind) -> tuple[str, ...]:
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
