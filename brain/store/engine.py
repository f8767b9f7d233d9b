"""What the tables ask of whatever runs their SQL: a file here, a server elsewhere.

The tables are written once, in the SQL that SQLite and PostgreSQL share, with ``?`` for a value.
`sqlite.Database` is one file; `tenancy.Tenancy` is one tenant's view of a
server. Where the two differ (full text, vectors, deleted bytes) each has a table of its own.
"""

from collections.abc import Iterable, Iterator, Sequence
from contextlib import AbstractContextManager
from typing import Any, Protocol

from kds.brain.clock import Clock


class Changed(Protocol):
    """What a statement, or all of many, changed."""

    @property
    def rowcount(self) -> int:
        """How many rows."""
        ...


class Cursor(Changed, Protocol):
    """What a statement found."""

    def fetchone(self) -> Any:
        """Return the next row, None when there is none."""

    def fetchall(self) -> list[Any]:
        """Return the rows that are left."""
        ...

    def __iter__(self) -> Iterator[Any]: ...


class Connection(Protocol):
    """A connection lent for one transaction."""

    def execute(self, query: str, values: Sequence[Any] = (), /) -> Cursor:
        """Run one statement."""
        ...

    def executemany(self, query: str, rows: Iterable[Sequence[Any]], /) -> Changed:
        """Run one statement for each row of values."""
        ...


class Engine(Protocol):
    """Transactions over the tables. Whatever goes wrong in one is a StoreError."""

    clock: Clock

    @property
    def place(self) -> str:
        """Which database it is, as errors name it: never with a password."""
        ...

    def read(self) -> AbstractContextManager[Connection]:
        """Lend a connection; everything read within sees one state."""
        ...

    def write(
        self, *, durable: bool = True, ahead: bool = False
    ) -> AbstractContextManager[Connection]:
        """Lend a connection for one transaction: all of it is stored, or nothing.

        Nobody else writes the same tables (of the same tenant) meanwhile. ``ahead``: a server need
        not answer a statement before the next one is sent, and no ``rowcount`` is known.
        """
        ...
