"""Examining the database, and putting its search index in order."""

import re
import sqlite3
from collections.abc import Callable, Iterator, Mapping
from contextlib import closing
from dataclasses import dataclass
from functools import wraps
from typing import Concatenate, Final, ParamSpec, Protocol, TypeVar

from kds.brain.errors import StoreError
from kds.brain.store.engine import Engine
from kds.brain.store.sqlite import Database
from kds.brain.store.sqlite_errors import is_damage
from kds.brain.store.sqlite_files import clear_suspect
from kds.brain.store.sqlite_opening import is_file_sound

_BETWEEN: Final = r"\t-/:-@\[-\^`{-~"
"""ASCII signs and white space: other signs may be part of a word for FTS5 (marks, private use)."""

_WORD: Final = re.compile(rf"(?<![^{_BETWEEN}])[a-z]{{3,}}(?![^{_BETWEEN}])")
"""Words that an index takes as they are, but for their stem."""

T = TypeVar("T")
S = TypeVar("S", bound="Kept")
P = ParamSpec("P")


@dataclass(frozen=True, slots=True)
class Check:
    """What an examination of the store found wrong."""

    problems: tuple[str, ...] = ()

    @property
    def sound(self) -> bool:
        """Whether nothing is wrong."""
        return not self.problems


class Kept(Protocol):
    """What keeps its tables in a database; only an index in a file is ever mended."""

    @property
    def database(self) -> Engine:
        """What runs its SQL."""
        ...


def healing(call: Callable[Concatenate[S, P], T]) -> Callable[Concatenate[S, P], T]:
    """Let a method that finds the search index damaged make it anew, and run once more."""

    @wraps(call)
    def healed(self: S, /, *args: P.args, **kwargs: P.kwargs) -> T:
        try:
            return call(self, *args, **kwargs)
        except StoreError as error:
            database = self.database
            if not isinstance(database, Database) or not is_damage(error.__cause__):
                raise
            if not mend_index(database):
                raise
        return call(self, *args, **kwargs)

    return healed


def check(database: Database) -> Check:
    """Examine file, index and counters. Raises StoreError when the file cannot be read."""
    problems: list[str] = []
    with database.read() as connection:
        problems += _file_problems(connection)
        for what, query in database.kind.contradictions.items():
            if count := connection.execute(query).fetchone()[0]:
                problems.append(f"{what}: {count}")
    problems += _index_problems(database)
    return Check(tuple(dict.fromkeys(problems)))


def index_sizes(engine: Engine) -> dict[str, int]:
    """Return the bytes of each search index of a file; on a server it is the server's business."""
    if not isinstance(engine, Database):
        return {}
    with engine.read() as connection:
        ask = "SELECT total(length(block)) FROM {}_data"
        return {
            index: int(connection.execute(ask.format(index)).fetchone()[0])
            for index in engine.kind.indexes
        }


def index_answers(database: Database) -> bool:
    """Tell whether each search index has the first and the last of its texts.

    It costs a tenth of a millisecond, and tells of an index that was emptied, cut off, or that
    SQLite (3.40) finds in order although it finds no words in it. `check` compares all.
    """
    with database.read() as connection:
        return all(_answers(connection, index) for index in database.kind.indexes)


def _answers(connection: sqlite3.Connection, index: str) -> bool:
    for end, order in (("min", "ASC"), ("max", "DESC")):
        stored = f"SELECT rowid, * FROM {index} ORDER BY rowid {order} LIMIT 1"
        last, *texts = connection.execute(stored).fetchone() or (None,)
        indexed = connection.execute(f"SELECT {end}(id) FROM {index}_docsize").fetchone()[0]
        if last != indexed:
            return False
        # The last word in the order of the index: the first is found in spite of some faults.
        if word := max(_WORD.findall(" ".join(map(str, texts))), default=""):
            ask = f"SELECT 1 FROM {index} WHERE {index} MATCH ? AND rowid = ?"
            if connection.execute(ask, (f'"{word}"', last)).fetchone() is None:
                return False
    return True


def mend_index(database: Database) -> bool:
    """Make the search index anew if it is what is damaged; tells whether it was.

    A file that is damaged itself stays as it is: the next start sets it aside.
    """
    with database.exclusive() as connection:
        if not is_file_sound(connection):
            return False
    with database.write() as connection:
        remake_indexes(connection, database.kind.indexes)
    clear_suspect(database.path)
    database.warnings += ("the search index was damaged and has been made anew",)
    return True


def remake_indexes(connection: sqlite3.Connection, indexes: Mapping[str, str]) -> None:
    """Make the full-text indexes anew, whatever state they are in."""
    for index, definition in indexes.items():
        # SQLite opens an index in order to drop it, which a damaged one does not let it do.
        connection.execute(f"DELETE FROM {index}_data")
        connection.executemany(f"INSERT INTO {index}_data VALUES (?, ?)", _empty_index())
        connection.execute(f"DROP TABLE {index}")
        connection.execute(definition)
        connection.execute(f"INSERT INTO {index}({index}) VALUES ('rebuild')")


def _empty_index() -> list[tuple[int, bytes]]:
    """Return what FTS5 itself writes for an index without content."""
    with closing(sqlite3.connect(":memory:")) as connection:
        connection.execute("CREATE VIRTUAL TABLE fresh USING fts5(text)")
        return connection.execute("SELECT id, block FROM fresh_data").fetchall()


def _file_problems(connection: sqlite3.Connection) -> Iterator[str]:
    """Examine the file itself, and the references between its tables."""
    for (found,) in connection.execute("PRAGMA integrity_check(20)"):
        if found != "ok":
            yield f"the file is damaged: {found}"
    for row in connection.execute("PRAGMA foreign_key_check"):
        yield f"{row[0]} refers to rows that are not there"


def _index_problems(database: Database) -> Iterator[str]:
    """Compare each index with what it was made of. FTS5 examines by a write that writes nothing."""
    for index in database.kind.indexes:
        try:
            with database.write(durable=False) as connection:
                connection.execute(
                    f"INSERT INTO {index}({index}, rank) VALUES ('integrity-check', 1)"
                )
        except StoreError as error:
            if not is_damage(error.__cause__):
                raise
            yield f"the search index {index} does not match what is stored"
