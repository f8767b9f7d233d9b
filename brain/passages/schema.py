"""Reading and writing the rows that every store of passages has.

A passage is a row of `chunk`, a slice of a text that is stored once; what the index knows of it is
the view `chunk_text`. The passages of a session or a document are one range of ids, so that a
search in one is a search in a range.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, Final, TypeVar

from kds.brain.errors import StoreError
from kds.brain.store.engine import Connection

CHUNK_BITS: Final = 24
"""Bits of a passage's id below the number of its session or document: 16 million for each."""

WITHOUT_VECTOR: Final = (
    "SELECT count(*) FROM chunk JOIN embedding_model AS model ON model.wanted = 1 "
    "WHERE NOT EXISTS (SELECT 1 FROM embed_job WHERE chunk_id = chunk.id) "
    "AND NOT EXISTS (SELECT 1 FROM embedding "
    "WHERE chunk_id = chunk.id AND model_num = model.num)"
)
"""Counts the passages that have neither a vector nor a job: there should be none."""

IDS_AT_ONCE: Final = 500
"""Ids in one statement: older versions of SQLite allow 999."""

Row = tuple[Any, ...]
"""What a connection gives; the query knows the columns."""

T = TypeVar("T")


def range_of(number: int) -> tuple[int, int]:
    """Return the first and the last id of the passages of a session or document."""
    return number << CHUNK_BITS, ((number + 1) << CHUNK_BITS) - 1


def in_order(
    ids: Sequence[int], read: Callable[[str, Sequence[int]], Iterable[tuple[int, T]]]
) -> tuple[T, ...]:
    """Return what ``read`` finds, each once, in the order of ``ids``.

    ``read`` is given some of the ids at a time, and the marks that stand for them in a statement.
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

    ``clash`` is the clause for rows that are there already; without one they are an error.
    """
    values = marks(columns.split(","))
    query = f"INSERT INTO {table}({columns}) VALUES ({values}) {clash}"
    return connection.executemany(query, list(rows)).rowcount


def session_number(connection: Connection, session_id: str, place: str) -> int:
    """Return the number of a session (or document). Raises StoreError for an unknown id."""
    row = connection.execute("SELECT num FROM session WHERE id = ?", (session_id,)).fetchone()
    if row is None:
        raise unknown("session", session_id, place)
    return int(row[0])


def ids_within(connection: Connection, session_id: str | None, place: str) -> tuple[int, int]:
    """Return the first and last id of the passages of a session, or (None) of all."""
    if session_id is None:
        return 0, 2**63 - 1
    return range_of(session_number(connection, session_id, place))


def unknown(what: str, name: str, place: str) -> StoreError:
    """Return the error for an unknown session or message."""
    hints = {
        "session": "see which sessions there are: kds memory show",
        "message": "see the messages of its session",
    }
    return StoreError(f"there is no {what} {name!r}", where=place, hint=hints[what])
