"""Whether what is in a database file is what KDS makes: nothing else in it is ever run.

A project can bring its own `kds-brain` along. A view in the place of a table, or a trigger beside
it, would run its author's SQL at our next query. So a file is only used when it has exactly the
tables, indexes and triggers that its version has. Until that is known SQLite trusts nothing that
it defines; afterwards it must: our own triggers keep the search index, which counts as unsafe.
"""

import sqlite3
from contextlib import closing
from typing import Final

from kds.brain.database.migrations import FileKind, migrate, version_of

Made = frozenset[tuple[str, str, str]]

_OURS: Final = (
    "SELECT type, name, coalesce(sql, '') FROM sqlite_master WHERE name NOT GLOB 'sqlite_*'"
)

_known: Final[dict[tuple[int, int], Made]] = {}
"""What each version of a kind of file has, by the kind's number and the version."""


def distrust(connection: sqlite3.Connection) -> None:
    """Let nothing that the file defines call what could do harm."""
    connection.execute("PRAGMA trusted_schema = OFF")


def trust(connection: sqlite3.Connection) -> None:
    """Let the triggers of a file work that `is_ours`."""
    connection.execute("PRAGMA trusted_schema = ON")


def is_ours(connection: sqlite3.Connection, kind: FileKind) -> bool:
    """Tell whether a file has what its version of this kind has, and nothing else.

    A file that is still empty has nothing, and one of a later version is judged elsewhere.
    """
    version = version_of(connection)
    if version > len(kind.migrations):
        return True
    return _made(connection) == _expected(kind, version)


def _expected(kind: FileKind, version: int) -> Made:
    key = (kind.application_id, version)
    if key not in _known:
        with closing(sqlite3.connect(":memory:", isolation_level=None)) as model:
            migrate(model, kind.migrations[:version])
            _known[key] = _made(model)
    return _known[key]


def _made(connection: sqlite3.Connection) -> Made:
    return frozenset(
        (kind, name, _gist(kind, sql)) for kind, name, sql in connection.execute(_OURS)
    )


def _gist(kind: str, sql: str) -> str:
    """What of a definition has to be the same: all of a trigger, the module of a virtual table.

    Tables and indexes are known by their names: versions of SQLite write their columns differently.
    """
    words = " ".join(sql.split()).casefold()
    if kind in ("trigger", "view"):
        return words
    return words.partition(" using ")[2].partition("(")[0] if "virtual table" in words else ""
