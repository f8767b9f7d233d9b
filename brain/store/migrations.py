"""What is in a database file: the steps that make its tables, and whether it has only these.

A file's ``user_version`` counts the steps it has had. Before an older file is changed it is
copied; a newer file is refused.

A project can bring its own `kds-brain` along. A view in place of a table, a trigger, an expression
as a default would run its author's SQL at our next query. So a file is only used when each
definition in it is, word for word, that of its version. Until that is known SQLite trusts nothing
that the file defines; afterwards it must: our own triggers keep the search index, which counts as
unsafe before SQLite 3.44.
"""

import re
import sqlite3
from collections.abc import Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass
from functools import cached_property, lru_cache
from pathlib import Path
from typing import Final

from kds.brain.errors import StoreError

Migration = str
"""The SQL of one step."""

Made = frozenset[tuple[str, str, str]]
"""Type, name and SQL of each definition in a file."""

_STATISTICS: Final = {
    ("table", "sqlite_stat1", "CREATE TABLE sqlite_stat1(tbl,idx,stat)"),
    ("table", "sqlite_stat4", "CREATE TABLE sqlite_stat4(tbl,idx,neq,nlt,ndlt,sample)"),
}
"""What a program that the user looks into the file with may leave: numbers for the planner."""

_SHADOW: Final = re.compile(r"_(?:data|idx|content|docsize|config)$")
"""Ends the name of a table of an index, which each version of FTS5 defines as it likes."""


@dataclass(frozen=True)
class FileKind:
    """What a database file of KDS is, such as the conversation memory."""

    what: str
    """How messages call it: "the memory"."""
    application_id: int
    """Says in the file whose it is."""
    rebuild: str
    """The command that puts its index in order."""
    migrations: Sequence[Migration]
    """Only ever added to at the end: a step that a user's file has had stays as it is."""

    @cached_property
    def indexes(self) -> Mapping[str, str]:
        """The full-text indexes by name, and how each is made."""
        return self._made_with("fts5")

    @cached_property
    def vocabularies(self) -> Mapping[str, str]:
        """The tables that tell the words of an index, and how each is made."""
        return self._made_with("fts5vocab")

    def _made_with(self, module: str) -> Mapping[str, str]:
        made = sorted(_made_by(tuple(self.migrations)))
        return {name: sql for _, name, sql in made if f"USING {module}(" in sql}


def scripts(folder: Path) -> tuple[Migration, ...]:
    """Return the SQL files of a folder, in the order of their numbers."""
    files = sorted(folder.glob("*.sql"), key=lambda path: int(path.name.partition("_")[0]))
    return tuple(path.read_text(encoding="utf-8") for path in files)


def read_script(path: Path, **values: object) -> str:
    """Return the SQL of a file of ours, with ``values`` in the place of their {names}."""
    return path.read_text(encoding="utf-8").format(**values)


def version_of(connection: sqlite3.Connection) -> int:
    """Return how many steps the file has had."""
    return int(connection.execute("PRAGMA user_version").fetchone()[0])


def refuse_foreign(connection: sqlite3.Connection, path: Path, kind: FileKind) -> None:
    """Raise StoreError when the file is newer than this program, or not of this kind at all."""
    version, known = version_of(connection), len(kind.migrations)
    owner = int(connection.execute("PRAGMA application_id").fetchone()[0])
    tables = int(connection.execute("SELECT count(*) FROM sqlite_master").fetchone()[0])
    if owner != kind.application_id and (owner or version or tables):
        raise StoreError(
            "this database belongs to another program",
            where=str(path),
            hint="move it away: KDS makes a new one",
        )
    if version > known:
        raise StoreError(
            f"{kind.what} was written by a newer KDS (schema {version}, this one knows {known})",
            where=str(path),
            hint="update KDS, or set KDS_HOME to another workspace; the file was not touched",
        )


def migrate(connection: sqlite3.Connection, migrations: Sequence[Migration]) -> None:
    """Take the steps the file has not had. A step that fails leaves the file as it was before."""
    for number in range(version_of(connection), len(migrations)):
        connection.execute("BEGIN IMMEDIATE")
        try:
            for statement in statements(migrations[number]):
                connection.execute(statement)
            connection.execute(f"PRAGMA user_version = {number + 1}")
            connection.execute("COMMIT")
        except BaseException:
            if connection.in_transaction:
                connection.execute("ROLLBACK")
            raise


def statements(script: str) -> list[str]:
    """Cut a script into statements: ``executescript`` would commit between them."""
    found = [""]
    for line in script.splitlines(keepends=True):
        found[-1] += line
        if sqlite3.complete_statement(found[-1]):
            found.append("")
    if unfinished := found.pop().strip():
        raise ValueError(f"an unfinished statement: {unfinished[:60]}")
    return [one.strip() for one in found]


def trust(connection: sqlite3.Connection, *, trusted: bool = True) -> None:
    """Let the triggers of a file work that `is_ours`, or nothing that the file defines."""
    connection.execute(f"PRAGMA trusted_schema = {'ON' if trusted else 'OFF'}")


def is_ours(connection: sqlite3.Connection, kind: FileKind) -> bool:
    """Tell whether a file has what its version of this kind has, and nothing else.

    A file that is still empty has nothing, and one of a later version is judged elsewhere.
    """
    version = version_of(connection)
    if version > len(kind.migrations):
        return True
    return _made(connection) == _made_by(tuple(kind.migrations[:version]))


def lacks_indexes(connection: sqlite3.Connection, kind: FileKind) -> bool:
    """Tell whether search indexes, or tables of theirs, are all that a file lacks.

    False where something else is missing or strange: then the file is not ours.
    """
    if version_of(connection) != len(kind.migrations):
        return False
    found, expected = _made(connection), _made_by(tuple(kind.migrations))
    part = "|".join((*kind.vocabularies, *(f"{one}(_.*)?" for one in kind.indexes)))
    lacking = [re.fullmatch(part, name) for _, name, _ in expected - found]
    return bool(lacking) and all(lacking) and not found - expected


def remake_indexes(connection: sqlite3.Connection, kind: FileKind) -> None:
    """Make the search indexes anew, whatever state they are in, within a transaction.

    What is left of the old ones goes with the next VACUUM.
    """
    connection.execute("PRAGMA writable_schema = ON")
    for name in (*kind.indexes, *kind.vocabularies):
        # SQLite opens an index in order to drop it, which a damaged one does not let it do.
        query = "DELETE FROM sqlite_master WHERE name = ? OR name GLOB ?"
        connection.execute(query, (name, f"{name}_*"))
    connection.execute("PRAGMA writable_schema = RESET")
    for name, definition in kind.indexes.items():
        connection.execute(definition)
        connection.execute(f"INSERT INTO {name}({name}) VALUES ('rebuild')")
    for definition in kind.vocabularies.values():
        connection.execute(definition)


@lru_cache(maxsize=32)
def _made_by(migrations: tuple[Migration, ...]) -> Made:
    with closing(sqlite3.connect(":memory:", isolation_level=None)) as model:
        migrate(model, migrations)
        return _made(model)


def _made(connection: sqlite3.Connection) -> Made:
    rows = connection.execute("SELECT type, name, coalesce(sql, '') FROM sqlite_master")
    return (
        frozenset(
            (kind, name, "" if _SHADOW.search(name) else " ".join(sql.split()))
            for kind, name, sql in rows
        )
        - _STATISTICS
    )
