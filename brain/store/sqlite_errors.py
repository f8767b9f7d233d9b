"""What went wrong in SQLite, said in words: which file, and what to do about it."""

import sqlite3
from pathlib import Path
from typing import Final

from kds.brain.errors import StoreError
from kds.brain.store.columns import DamagedRowError
from kds.brain.store.migrations import FileKind

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


def is_damage(error: BaseException | None) -> bool:
    """Tell whether an error says that the file is damaged, or only the search index in it.

    SQLite does not always say which of the two: `preparation.is_file_sound` finds out.
    """
    code = getattr(error, "sqlite_errorcode", 0) or 0
    return code & 0xFF in (sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB)


def store_error(error: sqlite3.Error, path: Path, kind: FileKind) -> StoreError:
    """Say what SQLite found wrong with the file at ``path``."""
    code = getattr(error, "sqlite_errorcode", 0) or 0
    if code & 0xFF == sqlite3.SQLITE_CANTOPEN and path.is_dir():
        message, hint = "it is a folder", "move it away: KDS makes a new file"
    elif code & 0xFF in _REASONS:
        message, hint = _REASONS[code & 0xFF]
    elif isinstance(error, DamagedRowError) or "Could not decode to UTF-8" in str(error):
        message = f"a row of {{what}} is damaged: {error}"
        hint = f"put a copy of {path.name} back, or move it away: {{what}} begins anew then"
    elif "no such module: fts5" in str(error):
        return missing_search(path)
    elif "closed database" in str(error):
        message, hint = "{what} was closed", "open it again"
    else:
        return StoreError(
            f"{kind.what} cannot do that: {error}",
            where=str(path),
            hint=f"see the reason above; `{kind.rebuild}` examines the whole file",
        )
    said = (text.replace("{what}", kind.what) for text in (message, hint))
    return StoreError(next(said), where=str(path), hint=next(said))


def missing_search(path: Path) -> StoreError:
    """Say that this Python's SQLite cannot search text."""
    return StoreError(
        f"SQLite {sqlite3.sqlite_version} of this Python was built without FTS5",
        where=str(path),
        hint="use a Python whose sqlite3 has FTS5: those of python.org, uv, conda and Debian do",
    )
