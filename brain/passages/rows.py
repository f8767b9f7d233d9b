"""Rows by their ids, in the order asked for; and what says that there is none."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, Final, TypeVar

from kds.brain.errors import StoreError
from kds.brain.store.engine import Connection

IDS_AT_ONCE: Final = 500
"""Ids in one question to SQLite, which allows 999 in its older versions."""

Row = tuple[Any, ...]
"""What a connection gives; the query knows the columns."""

T = TypeVar("T")


def in_order(
    ids: Sequence[int], read: Callable[[str, Sequence[int]], Iterable[tuple[int, T]]]
) -> tuple[T, ...]:
    """Return what ``read`` finds of some ids at a time, each once, in the order of ``ids``.

    It is given the marks that stand for the ids in a question, and the ids.
    """
    wanted = list(dict.fromkeys(map(int, ids)))
    found: dict[int, T] = {}
    for some in slices(wanted):
        found.update(read(marks(some), some))
    return tuple(found[one] for one in wanted if one in found)


def slices(rows: Sequence[T], *, at_once: int = IDS_AT_ONCE) -> Iterator[Sequence[T]]:
    """Cut rows or ids into runs of ``at_once``."""
    for at in range(0, len(rows), at_once):
        yield rows[at : at + at_once]


def marks(values: Sequence[object]) -> str:
    """Return the marks that stand for values in a statement.

    >>> marks(["a", "b"])
    '?, ?'
    """
    return ", ".join("?" * len(values))


def insert(
    connection: Connection, table: str, columns: str, rows: Iterable[Row], clash: str = ""
) -> int:
    """Insert rows, their values in the order of ``columns``; returns how many are new.

    ``clash`` says what is to be done with those that are there already: an error, else.
    """
    values = marks(columns.split(","))
    query = f"INSERT INTO {table}({columns}) VALUES ({values}) {clash}"
    return connection.executemany(query, list(rows)).rowcount


def session_number(connection: Connection, session_id: str, place: str) -> int:
    """Return the number of a session. Raises StoreError when there is none with this id."""
    row = connection.execute("SELECT num FROM session WHERE id = ?", (session_id,)).fetchone()
    if row is None:
        raise unknown("session", session_id, place)
    return int(row[0])


def unknown(what: str, name: str, place: str) -> StoreError:
    """Say that there is no such session or message."""
    hints = {
        "session": "see which sessions there are: kds memory show",
        "message": "see the messages of its session",
    }
    return StoreError(f"there is no {what} {name!r}", where=place, hint=hints[what])
