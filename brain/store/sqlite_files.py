"""The file of the memory as a file: made private, set aside when damaged, copied before changes.

A set-aside file is never overwritten; a file that another process uses is only ever renamed.
"""

import os
import sqlite3
from contextlib import closing, suppress
from datetime import datetime
from itertools import count
from pathlib import Path
from typing import Final

from kds.brain.errors import StoreError
from kds.brain.files import PRIVATE, PrivateFile, failure

COMPANIONS: Final = ("-wal", "-shm", "-journal")
"""What SQLite keeps beside a database file."""

SUSPECT: Final = ".suspect"
"""Suffix of the mark that a process leaves when SQLite reports damage: the next one that opens
the file examines it whole, which nobody wants to pay for at every start."""

_BAD: Final = ".bad-"
_BACKUP: Final = ".backup-"
_STAMP: Final = "%Y%m%dT%H%M%SZ"


def make_private(path: Path) -> None:
    """Make an empty file with mode 0600 if there is none; SQLite's companions take its mode."""
    if path.is_file() and path.stat().st_mode & 0o777 == PRIVATE:
        return
    PrivateFile(path).append(b"")


def set_aside(path: Path, now: datetime) -> Path:
    """Rename the file and its companions to a name that is free; returns the new name."""
    stem = f"{path.name}{_BAD}{now.strftime(_STAMP)}"
    names = (path.with_name(f"{stem}.{at}" if at else stem) for at in count())
    target = next(
        one for one in names
        if not (one.exists() or one.with_name(f"{one.name}-wal").exists())
    )  # fmt: skip
    try:
        for suffix in (*COMPANIONS, ""):
            with suppress(FileNotFoundError):
                path.with_name(path.name + suffix).rename(target.with_name(target.name + suffix))
    except OSError as error:
        raise failure("set aside", path, error) from error
    return target


def has_journal(path: Path) -> bool:
    """Tell whether a rollback journal stands beside the file: KDS, which uses a log, makes none.

    SQLite plays one back, and then deletes whatever file its end names: a project could bring one
    along that names a file of the user's. A pipe in its place would never be read to its end.
    """
    return os.path.lexists(path.with_name(f"{path.name}-journal"))


def set_journal_aside(path: Path, now: datetime) -> Path | None:
    """Rename a rollback journal; returns its new name. Hold the lock of the file."""
    if not has_journal(path):
        return None
    # not "-journal": beside a database that is set aside it would count again
    target = path.with_name(
        f"{path.name}{_BAD}{now.strftime(_STAMP)}.{os.urandom(3).hex()}.journal"
    )
    try:
        return path.with_name(f"{path.name}-journal").rename(target)
    except OSError as error:
        raise failure("set aside", path, error) from error


def back_up(connection: sqlite3.Connection, path: Path, version: int, now: datetime) -> Path:
    """Copy the whole database, private, before a migration; returns the copy's path."""
    target = path.with_name(f"{path.name}{_BACKUP}v{version}-{now.strftime(_STAMP)}")
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


def set_aside_files(path: Path) -> tuple[Path, ...]:
    """Return the damaged files that were set aside, with their companions."""
    return tuple(sorted(path.parent.glob(f"{path.name}{_BAD}*")))


def all_files(path: Path) -> tuple[Path, ...]:
    """Return every file of the store that exists: database, companions, copies, set aside."""
    own = (path.with_name(path.name + suffix) for suffix in ("", *COMPANIONS))
    return (*filter(Path.exists, own), *backups(path), *set_aside_files(path))


def size_of(path: Path) -> int:
    """Return the size of a file in bytes; 0 when another process has just removed it."""
    try:
        return path.stat().st_size
    except OSError:
        return 0


def mark_suspect(path: Path) -> None:
    """Note that SQLite found damage, for the process that opens the file next."""
    with suppress(StoreError):  # the damage itself is what is being reported
        PrivateFile(path.with_name(path.name + SUSPECT)).append(b"")


def is_suspect(path: Path) -> bool:
    """Tell whether somebody noted damage."""
    return path.with_name(path.name + SUSPECT).exists()


def clear_suspect(path: Path) -> None:
    """Take the note away: the file was examined, or is another one now."""
    PrivateFile(path.with_name(path.name + SUSPECT)).remove()


def identity(path: Path) -> tuple[int, int, int]:
    """Say which process sees which file: connections hold for one of these only."""
    try:
        status = path.stat()
    except OSError:
        return os.getpid(), 0, 0
    return os.getpid(), status.st_dev, status.st_ino
