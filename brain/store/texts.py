"""The texts of a tenant: `kds.brain.files.LockedText` as rows, each with a mark of its own.

A mark is a number that no state of any text had before: who sees the one he has seen has nothing
to read anew.
"""

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass
from datetime import datetime
from typing import Final

from kds.brain.clock import Clock, utc_now
from kds.brain.errors import StoreError
from kds.brain.files import ASIDE, LockedText
from kds.brain.store.columns import to_micros
from kds.brain.store.engine import Connection
from kds.brain.store.tenancy import Tenancy, tenant_number
from kds.brain.workspace import SharedDatabase

_PUT: Final = (
    "INSERT INTO kept_text(name, content, at) VALUES (?, ?, ?) ON CONFLICT(name) "
    "DO UPDATE SET content = {content}, at = excluded.at, mark = DEFAULT"
)
_REPLACE: Final = _PUT.format(content="excluded.content")
_APPEND: Final = _PUT.format(content="kept_text.content || excluded.content")

Opened = Callable[[], AbstractContextManager["Tenancy | _Begun"]]


def remove_older(shared: SharedDatabase, prefix: str, than: datetime) -> int:
    """Remove the texts whose names begin so that were last written before; returns how many."""
    with tenancy_of(shared) as tenancy, tenancy.write(lock=f"older {prefix}") as connection:
        return connection.execute(
            "DELETE FROM kept_text WHERE starts_with(name, ?) AND at < ?",
            (prefix, to_micros(than)),
        ).rowcount


@contextmanager
def tenancy_of(shared: SharedDatabase, *, clock: Clock = utc_now) -> Iterator[Tenancy]:
    """Lend a tenant for as long as the block runs; connections stay open while others use them."""
    server = shared.server()
    try:
        yield Tenancy(server, tenant_number(server, shared.tenant), clock=clock)
    finally:
        server.close()


@dataclass(frozen=True, slots=True)
class PostgresText(LockedText):
    """A text of a tenant, which is a row."""

    opened: Opened
    key: str
    place: str

    @classmethod
    def of(cls, shared: SharedDatabase, name: str, *, clock: Clock = utc_now) -> "PostgresText":
        """Return the text of that name; the server is asked later."""
        return cls(lambda: tenancy_of(shared, clock=clock), name, str(shared))

    def __str__(self) -> str:
        return f"{self.place}/{self.key}"

    @property
    def aside(self) -> "PostgresText":
        """The row beside it."""
        return PostgresText(self.opened, f"{self.key}{ASIDE}", self.place)

    def read(self) -> bytes | None:
        """Return the content."""
        with self.opened() as tenancy, tenancy.read() as connection:
            row = connection.execute(
                "SELECT content FROM kept_text WHERE name = ?", (self.key,)
            ).fetchone()
        return None if row is None else str(row[0]).encode()

    @contextmanager
    def locked(self, *, timeout_s: float) -> Iterator["PostgresText"]:
        """Begin a transaction that nobody else has for this text; it waits as long as any does."""
        with self._written() as begun:
            yield PostgresText(lambda: nullcontext(begun), self.key, self.place)

    def replace(self, content: bytes) -> None:
        """Write the row anew."""
        self._put(_REPLACE, content)

    def append(self, content: bytes) -> None:
        """Add to the row."""
        self._put(_APPEND, content)

    def remove(self) -> None:
        """Remove the row."""
        with self._written() as begun:
            begun.connection.execute("DELETE FROM kept_text WHERE name = ?", (self.key,))

    def _put(self, statement: str, content: bytes) -> None:
        try:
            text = content.decode()
        except UnicodeDecodeError as error:
            raise StoreError("it is not UTF-8 text", where=str(self)) from error
        with self._written() as begun:
            begun.connection.execute(statement, (self.key, text, to_micros(begun.clock())))

    @contextmanager
    def _written(self) -> Iterator["_Begun"]:
        lock = f"text {self.key}"
        with self.opened() as tenancy, tenancy.write(lock=lock) as connection:
            yield _Begun(connection, tenancy.clock)


@dataclass(frozen=True, slots=True)
class _Begun:
    """A transaction that goes on, in the place of the tenancy that began it."""

    connection: Connection
    clock: Clock

    def read(self) -> AbstractContextManager[Connection]:
        return nullcontext(self.connection)

    def write(self, *, lock: str) -> AbstractContextManager[Connection]:
        return nullcontext(self.connection)
