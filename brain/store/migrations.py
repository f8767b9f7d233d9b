"""How an older file becomes a present one: named steps in a list, each in its transaction.

A file's ``user_version`` counts the steps it has had. Before an older file is changed it is
copied; a newer file is refused.
"""

import sqlite3
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from kds.brain.errors import StoreError

Migration = str
"""The SQL of one step."""


@dataclass(frozen=True, slots=True)
class FileKind:
    """What a database file of KDS is, such as the conversation memory: all kinds are looked after
    alike, and this says what differs."""

    what: str
    """How messages call it: "the memory"."""
    application_id: int
    """Says in the file whose it is."""
    indexes: Mapping[str, str]
    """The full-text indexes by name, and how each is made."""
    vocabularies: Mapping[str, str]
    """The tables that tell the words of an index, and how each is made."""
    rebuild: str
    """The command that puts its index in order."""
    migrations: Sequence[Migration]
    """Only ever added to at the end: a step that a user's file has had stays as it is."""
    contradictions: Mapping[str, str]
    """What may not be, and the question that counts how often it is."""


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


def read_script(path: Path, **values: object) -> str:
    """Return the SQL of a file of ours, with ``values`` in the place of their {names}."""
    return path.read_text(encoding="utf-8").format(**values)


def statements(script: str) -> list[str]:
    """Cut a script into statements: ``executescript`` would commit between them."""
    found: list[str] = []
    current = ""
    for line in script.splitlines(keepends=True):
        current += line
        if sqlite3.complete_statement(current):
            found.append(current.strip())
            current = ""
    if current.strip():
        raise ValueError(f"an unfinished statement: {current.strip()[:60]}")
    return found
