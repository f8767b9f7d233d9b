"""What the tables ask of whatever runs their SQL: a file here, a server elsewhere.

The tables are written once, in the SQL that SQLite and PostgreSQL share, with ``?`` for a value.
`sqlite.Database` is one file; `tenancy.Tenancy` is one tenant's view of a server. Where the two
differ (full text, vectors, deleted bytes) each has a table of its own.
"""

from collections.abc import Iterable, Sequence
from contextlib import AbstractContextManager
from typing import Any, Final, Protocol

from kds.brain.clock import Clock
from kds.brain.errors import StoreError

VALUES_LIMIT: Final = 30_000
"""Values in one statement: PostgreSQL's protocol takes 65,535, SQLite 32,766."""


class Connection(Protocol):
    """A connection lent for one transaction."""

    def execute(self, query: str, values: Sequence[Any] = (), /) -> Any:
        """Run one statement; returns a cursor over its rows."""

    def executemany(self, query: str, rows: Iterable[Sequence[Any]], /) -> Any:
        """Run one statement for each row of values; returns what has their ``rowcount``."""


class Engine(Protocol):
    """Transactions over the tables. Whatever goes wrong in one is a StoreError."""

    clock: Clock
    warnings: tuple[str, ...]
    """What was found and put right, and not told yet."""

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

    def together(self) -> AbstractContextManager[object]:
        """Have all that this thread reads while the block runs be one transaction of a server."""
        ...

    def leaves_bytes(self, connection: Connection) -> None:
        """Note in a file, within the transaction, that it deletes something; a server needs none
        of it."""

    def wipe(self) -> None:
        """Remove the bytes of what was deleted; a server does so by itself."""

    def mend(self, error: StoreError) -> bool:
        """Make the search index of a file anew if ``error`` says that it is damaged; tells whether
        it was."""
        ...
