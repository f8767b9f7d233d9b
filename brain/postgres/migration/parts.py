"""Runs of messages, so many at a time: what a file holds, what a server has, what is compared."""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Final

from kds.brain.database.engine import Connection
from kds.brain.passages.rows import Row

MESSAGES_AT_ONCE: Final = 500
"""In one transaction: 0.3 s, for which other writers of the tenant wait."""

SESSIONS_AT_ONCE: Final = 100
"""In one question, three values each: SQLite allows 999 in its older versions."""

_SESSIONS: Final = (
    "SELECT session.num, id, title, title_given, created_at, updated_at, document_context, "
    "message_count, (SELECT count(*) FROM summary WHERE session_num = session.num) "
    "FROM session ORDER BY session.num"
)


Tell = Callable[[int, int], None]
"""Is told how many messages or documents are done, and of how many."""


@dataclass(frozen=True, slots=True)
class Held:
    """A session as one of the two has it."""

    num: int
    id: str
    title: str
    title_given: int
    created_at: int
    updated_at: int
    document_context: str | None
    messages: int
    summaries: int


@dataclass(frozen=True, slots=True)
class Part:
    """The messages ``first`` to ``last`` of a session; none when it has none."""

    session: Held
    first: int
    last: int

    @property
    def is_end(self) -> bool:
        """Whether nothing of the session comes after."""
        return self.last == self.session.messages


def held(connection: Connection) -> tuple[Held, ...]:
    """Return all sessions, in the order they were made."""
    return tuple(Held(*row) for row in connection.execute(_SESSIONS))


def packed(runs: Iterable[tuple[Held, int]], limit: int) -> Iterator[tuple[Part, ...]]:
    """Cut sessions, each from a message on, into parts of ``limit`` messages together.

    >>> one = Held(1, "a", "", 0, 0, 0, None, 5, 0)
    >>> [[(part.first, part.last) for part in some] for some in packed([(one, 2)], 2)]
    [[(2, 3)], [(4, 5)]]
    """
    batch: list[Part] = []
    room = limit
    for session, first in runs:
        part = Part(session, first, min(session.messages, first + room - 1))
        batch.append(part)
        room -= max(part.last - part.first + 1, 1)
        while room <= 0 or len(batch) == SESSIONS_AT_ONCE:
            yield tuple(batch)
            batch, room = [], limit
            if not part.is_end:
                part = Part(session, part.last + 1, min(session.messages, part.last + room))
                batch.append(part)
                room -= part.last - part.first + 1
    if batch:
        yield tuple(batch)


def rows_of(
    connection: Connection, columns: str, tables: str, runs: Iterable[tuple[int, int, int]]
) -> list[Row]:
    """Read from ``message`` and what is joined to it: number of a session, first and last ``seq``.

    In the order of session and message, and then of ``chunk.id`` where that is among ``columns``.
    """
    values = [value for run in runs for value in run]
    if not values:
        return []
    run = "(session_num = ? AND seq BETWEEN ? AND ?)"
    where = " OR ".join([run] * (len(values) // 3))
    order = "session_num, seq, chunk.id" if "chunk.id" in columns else "session_num, seq"
    return connection.execute(
        f"SELECT {columns} FROM {tables} WHERE {where} ORDER BY {order}", values
    ).fetchall()
