"""One tenant's view of a server: the engine of its tables, and its texts as rows.

A tenant is what a person of an organisation does in a project: the rows of one are seen by no
other, as the files of two workspaces have nothing in common.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager
from dataclasses import dataclass, replace
from datetime import datetime
from functools import lru_cache
from hashlib import blake2b
from itertools import chain
from typing import Any, Final, NamedTuple

from kds.brain.clock import Clock, utc_now
from kds.brain.errors import StoreError
from kds.brain.files import ASIDE, LockedText
from kds.brain.store.columns import to_micros
from kds.brain.store.engine import VALUES_LIMIT, Connection
from kds.brain.store.postgres import LOCK_S, PgConnection, Server
from kds.brain.workspace import SharedDatabase, Texts, Workspace

MEMBER: Final = "kds_member"
"""The role that services act in."""

LOCK_SPACE: Final = 0x4B4453
"""'KDS': the first half of the keys of our advisory locks, so that they meet nobody else's."""

NAME_LIMIT: Final = 128
"""Characters of the name of an organisation or a person."""

_WITH_TENANT: Final = ("ON CONFLICT(", "ON CONFLICT(tenant, ")

Names = tuple[str, str, str]
"""Organisation, person, project."""

_NUMBER: Final = (
    b"SELECT num FROM kds.tenant WHERE organisation = %s AND person = %s AND project = %s"
)


@dataclass(frozen=True, slots=True)
class Area:
    """A schema with tables of its own, in which a tenant's writers wait for one another."""

    schema: str
    lock: int
    """The first half of the key of their lock."""


CONVERSATIONS: Final = Area("kds", LOCK_SPACE)


class Tenancy:
    """Transactions that see and make rows of one tenant only."""

    def __init__(
        self,
        server: Server,
        tenant: int,
        *,
        area: Area = CONVERSATIONS,
        clock: Clock = utc_now,
        beside: int | None = None,
        person: str = "",
        owns_server: bool = False,
    ) -> None:
        """``tenant`` is a number that `tenant_number` gave; documents of ``beside`` are seen, too.

        ``person`` is noted as who adds documents. ``owns_server``: closing lets go of it, too.
        """
        self.server, self.tenant, self.clock = server, tenant, clock
        self.warnings: tuple[str, ...] = ()
        self._beside, self._person = beside, person
        self._area, self._owns_server = area, owns_server
        self._closed = False

    @property
    def place(self) -> str:
        """Which database it is, without user and password."""
        return self.server.place

    @contextmanager
    def read(self) -> Iterator[Connection]:
        """Lend a connection; everything read within sees one state."""
        self._require_open()
        begin = f"BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY; {self._acting()}"
        with self.server.reading(begin) as connection:
            yield _Translating(connection, self.server)

    @contextmanager
    def write(
        self, *, durable: bool = True, ahead: bool = False, lock: str = ""
    ) -> Iterator[Connection]:
        """Lend a connection for one transaction: all of it is stored, or nothing.

        Writers of one tenant wait for one another, as those of a file do; tenants do not, and who
        writes a message does not wait for documents. With a ``lock`` they wait for those of the
        same name only.
        """
        self._require_open()
        begin = f"BEGIN; {self._acting()}; {self._lock(lock, durable=durable)}"
        with self.server.transaction(begin, ahead=ahead) as connection:
            yield _Translating(connection, self.server)

    def together(self) -> AbstractContextManager[object]:
        """Have all that this thread reads while the block runs be one transaction."""
        return self.server.together()

    def leaves_bytes(self, connection: Connection) -> None:
        """Nothing to do: a server reuses the space by itself."""

    def wipe(self) -> None:
        """Nothing to do, as for `leaves_bytes`."""

    def mend(self, error: StoreError) -> bool:
        """Nothing to do: a server looks after its indexes."""
        return False

    def close(self) -> None:
        """Refuse what comes after. Closing twice is fine."""
        if self._owns_server and not self._closed:
            self.server.close()
        self._closed = True

    def _require_open(self) -> None:
        if self._closed:
            raise StoreError("the memory was closed", where=self.place, hint="open it again")

    def _acting(self) -> str:
        millis = int(self.server.timeout_s * 1000)
        more = "" if self._beside is None else f"SET LOCAL kds.shared = '{self._beside}'; "
        if self._person:
            quoted = self._person.replace("'", "''")
            more += f"SET LOCAL kds.person = '{quoted}'; "
        return (
            f"SET LOCAL ROLE {MEMBER}; SET LOCAL kds.tenant = '{self.tenant}'; {more}"
            f"SET LOCAL search_path = {self._area.schema}, public; "
            # A few rows are named by their ids first in every join of the tables; without
            # statistics (new tables, a new tenant) the planner would begin at the other end.
            f"SET LOCAL join_collapse_limit = 1; SET LOCAL statement_timeout = {millis}"
        )

    def _lock(self, name: str, *, durable: bool) -> str:
        # A tenant's number fits into half a key for the first two thousand million of them.
        key = f"{self._area.lock}, {self.tenant & 0x7FFFFFFF}"
        if name:
            digest = blake2b(f"{self.tenant}/{name}".encode(errors="replace"), digest_size=8)
            key = str(int.from_bytes(digest.digest(), signed=True))
        millis = int(min(LOCK_S, self.server.timeout_s) * 1000)
        lock = (
            f"SET LOCAL lock_timeout = {millis}; SELECT pg_advisory_xact_lock({key}); "
            "SET LOCAL lock_timeout = 0"
        )
        return lock if durable else f"SET LOCAL synchronous_commit = off; {lock}"


class _Translating:
    """A connection that is given the SQL of the tables, and says at once what went wrong."""

    def __init__(self, connection: PgConnection, server: Server) -> None:
        self._connection = connection
        self._server = server

    def execute(self, query: str, values: Sequence[Any] = (), /) -> Any:
        with self._server.translated():
            return self._connection.execute(to_postgres(query), values or None)

    def executemany(self, query: str, rows: Iterable[Sequence[Any]], /) -> Any:
        given = list(rows)
        if len(given) == 1:  # a pipeline for one costs twice as much
            return self.execute(query, given[0])
        with self._server.translated():
            head, inserts, row = query.partition(" VALUES ")
            if not (inserts and given):
                cursor = self._connection.cursor()
                cursor.executemany(to_postgres(query), given)
                return cursor
            # One statement for many rows takes a fifth of the time of one for each.
            row, clash, rest = row.replace(*_WITH_TENANT).partition(" ON CONFLICT")
            raw = self._server.driver.RawCursor(self._connection)
            done, at_once = 0, VALUES_LIMIT // len(given[0])
            for some in (given[at : at + at_once] for at in range(0, len(given), at_once)):
                text = head + inserts + ", ".join([row] * len(some)) + clash + rest
                done += raw.execute(_numbered(text), [*chain.from_iterable(some)]).rowcount
        return _Inserted(done)


class _Inserted(NamedTuple):
    """What inserting many rows found: how many they are."""

    rowcount: int


def _numbered(query: str) -> bytes:
    """Return a statement with the server's own marks, which the driver does not look for.

    >>> _numbered("VALUES (?, ?), (?, ?)")
    b'VALUES ($1, $2), ($3, $4)'
    """
    first, *others = query.split("?")
    return (first + "".join(f"${n}{text}" for n, text in enumerate(others, 1))).encode()


@lru_cache(maxsize=1024)
def to_postgres(query: str) -> bytes:
    """Return a statement with psycopg's marks, and keys that are unique within their tenant.

    No statement of the tables has a question mark that stands for anything but a value.

    >>> to_postgres("INSERT INTO item(key) VALUES (?) ON CONFLICT(key) DO NOTHING")
    b'INSERT INTO item(key) VALUES (%s) ON CONFLICT(tenant, key) DO NOTHING'
    """
    marked = query.replace("%", "%%").replace("?", "%s")
    return marked.replace(*_WITH_TENANT).encode()


def tenant_number(server: Server, names: Names) -> int:
    """Return the number of a tenant, who is made if there is none. Raises StoreError."""
    for name, what in zip(names, ("organisation", "person", "project"), strict=True):
        checked_name(name, what)
    with server.transaction() as connection:
        row = connection.execute(_NUMBER, names).fetchone()
        if row is None:
            connection.execute(
                b"INSERT INTO kds.tenant(organisation, person, project) VALUES (%s, %s, %s) "
                b"ON CONFLICT DO NOTHING",
                names,
            )
            row = connection.execute(_NUMBER, names).fetchone()
    if row is None:
        raise StoreError(
            f"the tenant {'/'.join(names)} was removed meanwhile",
            where=server.place,
            hint="try again",
        )
    return int(row[0])


def checked_name(text: str, what: str) -> str:
    """Return a name from outside. Raises StoreError when it cannot be one."""
    if not text or len(text) > NAME_LIMIT or not text.isprintable() or text != text.strip():
        raise StoreError(
            f"{text[:40]!r} cannot be the name of a {what}",
            hint=f"use 1 to {NAME_LIMIT} printable characters, without blanks at the ends",
        )
    return text


# Texts: `kds.brain.files.LockedText` as rows. Each has a mark that no state of any text had before:
# who sees the one he has seen has nothing to read anew.

_PUT: Final = (
    "INSERT INTO kept_text(name, content, at) VALUES (?, ?, ?) ON CONFLICT(name) "
    "DO UPDATE SET content = {content}, at = excluded.at, mark = DEFAULT"
)


@dataclass(frozen=True, slots=True)
class PostgresText(LockedText):
    """A text of a tenant, which is a row."""

    opened: Callable[[], AbstractContextManager[Tenancy]]
    key: str
    place: str
    begun: tuple[Connection, Clock] | None = None
    """The transaction that holds it for changing."""

    def __str__(self) -> str:
        return f"{self.place}/{self.key}"

    @property
    def aside(self) -> "PostgresText":
        """The row beside it."""
        return replace(self, key=f"{self.key}{ASIDE}")

    def read(self) -> bytes | None:
        """Return the content."""
        with self._begun(writes=False) as (connection, _):
            query = "SELECT content FROM kept_text WHERE name = ?"
            row = connection.execute(query, (self.key,)).fetchone()
        return None if row is None else str(row[0]).encode()

    @contextmanager
    def locked(self, *, timeout_s: float) -> Iterator["PostgresText"]:
        """Begin a transaction that nobody else has for this text; it waits as long as any does."""
        with self._begun() as begun:
            yield replace(self, begun=begun)

    def replace(self, content: bytes) -> None:
        """Write the row anew."""
        self._put(_PUT.format(content="excluded.content"), content)

    def append(self, content: bytes) -> None:
        """Add to the row."""
        self._put(_PUT.format(content="kept_text.content || excluded.content"), content)

    def remove(self) -> None:
        """Remove the row."""
        with self._begun() as (connection, _):
            connection.execute("DELETE FROM kept_text WHERE name = ?", (self.key,))

    def _put(self, statement: str, content: bytes) -> None:
        try:
            text = content.decode()
        except UnicodeDecodeError as error:
            raise StoreError("it is not UTF-8 text", where=str(self)) from error
        with self._begun() as (connection, clock):
            connection.execute(statement, (self.key, text, to_micros(clock())))

    @contextmanager
    def _begun(self, *, writes: bool = True) -> Iterator[tuple[Connection, Clock]]:
        if self.begun is not None:
            yield self.begun
            return
        with self.opened() as tenancy:
            lock = f"text {self.key}"
            with tenancy.write(lock=lock, ahead=True) if writes else tenancy.read() as connection:
                yield connection, tenancy.clock


class PostgresTexts(Texts):
    """The texts of a tenant. Connections stay open while others use them, or it is held."""

    def __init__(
        self, shared: SharedDatabase, workspace: Workspace, *, clock: Clock = utc_now
    ) -> None:
        super().__init__(workspace)
        self._shared, self._clock = shared, clock
        self._number: int | None = None
        self._held = ExitStack()

    def __call__(self, name: str) -> PostgresText:
        """Return a text; the server is asked later."""
        return PostgresText(self._opened, name, str(self._shared))

    def mark(self, name: str) -> object:
        """The mark of a text. Raises OutageError."""
        with self._opened() as tenancy, tenancy.read() as connection:
            row = connection.execute("SELECT mark FROM kept_text WHERE name = ?", (name,))
            return row.fetchone() or ()

    def remove_older(self, folder: str, than: datetime) -> None:
        """Remove the texts of a folder that were last written before."""
        lock = f"older {folder}"
        with self._opened() as tenancy, tenancy.write(lock=lock) as connection:
            old = "DELETE FROM kept_text WHERE starts_with(name, ?) AND at < ?"
            connection.execute(old, (f"{folder}/", to_micros(than)))

    def hold(self) -> None:
        """Keep connections open until `close`."""
        self._held.callback(self._shared.server().close)

    def close(self) -> None:
        """Let go of the server."""
        self._held.close()

    @contextmanager
    def reading(self) -> Iterator[None]:
        """Have all that this thread reads while the block runs be one transaction."""
        server = self._shared.server()
        try:
            with server.together():
                yield
        finally:
            server.close()

    @contextmanager
    def _opened(self) -> Iterator[Tenancy]:
        server = self._shared.server()
        try:
            if self._number is None:
                self._number = tenant_number(server, self._shared.tenant)
            yield Tenancy(server, self._number, clock=self._clock)
        finally:
            server.close()
