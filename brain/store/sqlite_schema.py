"""Whether what is in a database file is what KDS makes: nothing else in it is ever run.

A project can bring its own `kds-brain` along. A view in the place of a table, a trigger beside it,
a column with an expression as its default would run its author's SQL at our next query. So a file
is only used when each definition in it is, word for word, that of its version; names that SQLite
keeps for itself are no exception: who writes the bytes of a file can use them too. Until
that is known SQLite trusts nothing that the file defines; afterwards it must: our own triggers keep
the search index, which counts as unsafe before SQLite 3.44.
"""

import re
import sqlite3
from contextlib import closing
from typing import Final

from kds.brain.store.migrations import FileKind, migrate, version_of

Made = frozenset[tuple[str, str, str]]

_DEFINED: Final = "SELECT type, name, coalesce(sql, '') FROM sqlite_master"

_STATISTICS: Final = {
    ("table", "sqlite_stat1", "CREATE TABLE sqlite_stat1(tbl,idx,stat)"),
    ("table", "sqlite_stat4", "CREATE TABLE sqlite_stat4(tbl,idx,neq,nlt,ndlt,sample)"),
}
"""What a program that the user looks into the file with may leave: numbers for the planner."""

_SHADOW: Final = re.compile(r"_(?:data|idx|content|docsize|config)$")
_KEY: Final = r"PRIMARY KEY ?\(\w+(?:, ?\w+)*\)"
_COLUMN: Final = r"\w+(?: (?:INTEGER|BLOB|TEXT))?(?: PRIMARY KEY)?(?: NOT NULL)?"
_PLAIN: Final = re.compile(
    rf"CREATE TABLE '\w+'\((?:{_COLUMN}, ?)*(?:{_COLUMN}|{_KEY})\)(?: WITHOUT ROWID)?"
)
"""A table of an index, which FTS5 defines: columns and a key, as each version of it likes them."""

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


def missing_indexes(connection: sqlite3.Connection, kind: FileKind) -> frozenset[str]:
    """Return what of the search indexes a file of the present version lacks, by name.

    Nothing where something else is missing or strange: then the file is not ours.
    """
    if version_of(connection) != len(kind.migrations):
        return frozenset()
    found, expected = _made(connection), _expected(kind, len(kind.migrations))
    lacking = {name for _, name, _ in expected - found}
    if found - expected or not all(_is_of_index(name, kind) for name in lacking):
        return frozenset()
    return frozenset(lacking)


def _is_of_index(name: str, kind: FileKind) -> bool:
    """Whether it is an index, a table that FTS5 keeps for one, or tells the words of one."""
    return any(name == one or name.startswith(f"{one}_") for one in kind.indexes) or (
        name in kind.vocabularies
    )


def add_missing(connection: sqlite3.Connection, kind: FileKind, missing: frozenset[str]) -> None:
    """Make the indexes anew of which something is ``missing``, with what they index."""
    with_faults = [one for one in kind.indexes if any(
        name == one or name.startswith(f"{one}_") for name in missing
    )]  # fmt: skip
    connection.execute("PRAGMA writable_schema = ON")
    for index in with_faults:  # SQLite opens an index in order to drop it: this one it cannot
        connection.execute(
            "DELETE FROM sqlite_master WHERE name = ? OR name GLOB ?", (index, f"{index}_*")
        )
    connection.execute("PRAGMA writable_schema = RESET")
    for index in with_faults:
        connection.execute(kind.indexes[index])
        connection.execute(f"INSERT INTO {index}({index}) VALUES ('rebuild')")
    for name, definition in kind.vocabularies.items():
        if name in missing:
            connection.execute(definition)


def _expected(kind: FileKind, version: int) -> Made:
    key = (kind.application_id, version)
    if key not in _known:
        with closing(sqlite3.connect(":memory:", isolation_level=None)) as model:
            migrate(model, kind.migrations[:version])
            _known[key] = _made(model)
    return _known[key]


def _made(connection: sqlite3.Connection) -> Made:
    rows = {(kind, name, _gist(name, sql)) for kind, name, sql in connection.execute(_DEFINED)}
    return frozenset(rows - _STATISTICS)


def _gist(name: str, sql: str) -> str:
    """What of a definition has to be the same: all its words."""
    words = " ".join(sql.split())
    return "an index keeps it" if _SHADOW.search(name) and _PLAIN.fullmatch(words) else words
