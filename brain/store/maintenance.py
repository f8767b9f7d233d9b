"""Examining a database file, and repeating calls that found its search index damaged."""

import sqlite3
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import wraps
from typing import Concatenate, ParamSpec, Protocol, TypeVar

from kds.brain.errors import StoreError
from kds.brain.store.engine import Engine
from kds.brain.store.sqlite import Database, is_damage

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
    """What keeps its tables in a database."""

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
            if not self.database.mend(error):
                raise
        return call(self, *args, **kwargs)

    return healed


def check(database: Database) -> Check:
    """Examine file and index. Raises StoreError when the file cannot be read."""
    with database.read() as connection:
        problems = [*_file_problems(connection)]
    return Check(tuple(dict.fromkeys((*problems, *_index_problems(database)))))


def index_sizes(engine: Engine) -> dict[str, int]:
    """Return the bytes of each search index of a file; on a server it is the server's business."""
    if not isinstance(engine, Database):
        return {}
    query = "SELECT total(length(block)) FROM {}_data"
    with engine.read() as connection:
        return {
            index: int(connection.execute(query.format(index)).fetchone()[0])
            for index in engine.kind.indexes
        }


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
