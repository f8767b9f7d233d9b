"""Examining a database, putting its search index in order, and deleting so that nothing is left.

SQLite deletes by marking space as free, and its log keeps old pages. After a deletion the index
is written anew (it keeps the words of what was deleted until then), the whole file too, and the
log is written back and emptied. A count in the file says that this is due, raised with the
deletion itself: a process that dies in between leaves it to the next one.
"""

import re
import sqlite3
from collections.abc import Callable, Iterator, Mapping
from contextlib import closing
from dataclasses import dataclass
from functools import wraps
from typing import Concatenate, Final, ParamSpec, Protocol, TypeVar

from kds.brain.errors import StoreError
from kds.brain.files import PrivateFile
from kds.brain.store.engine import Connection, Engine
from kds.brain.store.sqlite import Database, is_damage, is_file_sound
from kds.brain.store.sqlite_files import backups, clear_suspect, set_aside_files
from kds.brain.timeouts import Deadline

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
            one, damaged = self.database, is_damage(error.__cause__)
            if not (damaged and isinstance(one, Database) and mend_index(one)):
                raise
        return call(self, *args, **kwargs)

    return healed


def check(database: Database) -> Check:
    """Examine file, index and counters. Raises StoreError when the file cannot be read."""
    with database.read() as connection:
        problems = [*_file_problems(connection)]
        for what, query in database.kind.contradictions.items():
            if count := connection.execute(query).fetchone()[0]:
                problems.append(f"{what}: {count}")
    return Check(tuple(dict.fromkeys((*problems, *_index_problems(database)))))


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
    with PrivateFile(database.path).locked(timeout_s=deadline):
        aside = set_aside_files(database.path) if set_aside_too else ()
        for copy in (*backups(database.path), *aside):
            PrivateFile(copy).remove()
        if not (due := _due(database)):  # another process did it in the meantime
            return
        with database.exclusive() as connection:
            for index in database.kind.indexes:
                connection.execute(f"INSERT INTO {index}({index}) VALUES ('optimize')")
            connection.execute("VACUUM")
            if not log_emptied(connection, timeout_s=deadline):
                told = f"what was deleted is still in the log of {database.kind.what}"
                raise StoreError(
                    f"{told}: another process reads it", where=database.place, hint=BUSY_HINT
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
