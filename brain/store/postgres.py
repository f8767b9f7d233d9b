"""A PostgreSQL server: a pool of connections, and what goes wrong as StoreError.

Prepared statements and settings of a session are not used, so that PgBouncer may stand between in
transaction mode. Nothing waits longer than ``timeout_s``.
"""

import os
import time
from collections.abc import Generator, Iterator
from contextlib import ExitStack, contextmanager, nullcontext, suppress
from threading import Lock, local
from typing import TYPE_CHECKING, Any, Final, TypeAlias

from kds.brain.errors import (
    KdsError,
    MessageError,
    OutageError,
    RemovedError,
    StoreError,
)
from kds.brain.installation import load_extra

if TYPE_CHECKING:
    import psycopg

PgConnection: TypeAlias = "psycopg.Connection[tuple[Any, ...]]"

TIMEOUT_S: Final = 5.0
"""For a connection and for a statement. The slowest one, a search of a million messages, takes some
tenths of a second."""

LOCK_S: Final = 2.0
"""For the others who write the same conversation or the same memory: a turn takes 10 to 60 ms, and
a request that waits holds a thread that others may need."""

CONNECT_S: Final = 2
"""Seconds for a connection to be made: with the pause, who is back is found in three."""

RETRY_S: Final = 1.0
"""Seconds for which a server that could not be reached is not asked again, at most: where it does
not even refuse, two thirds of the time are lost to waiting for it."""

REFUSED_S: Final = 0.1
"""The same where it was known sooner: one that refuses is found soon after it is back."""

GRACE_S: Final = 0.5
"""For the server to keep its own limit first; and then to do as it is told, and give up."""

CONNECTIONS: Final = 16
"""At most, a process: more threads than that wait for one another."""

_Held = dict[str, tuple[ExitStack, PgConnection]]
"""Transactions that are read in, by what they began with, and what ends them."""

_SHARED: Final[dict[tuple[int, str], "Server"]] = {}
_SHARING: Final = Lock()
"""One pool an address and process, not one a store: a server has some hundred connections."""


class Server:
    """The connections of one process to one database, for any number of threads and tenants."""

    def __init__(self, url: str, *, timeout_s: float = TIMEOUT_S) -> None:
        """Prepare to connect; nothing is asked of the server yet.

        Raises StoreError when the URL is none, or psycopg is not installed.
        """
        self.driver = _driver()
        pools = load_extra("psycopg_pool", extra="postgres", purpose="use PostgreSQL")
        self.place = place_of(url)
        self.timeout_s = timeout_s
        self.closed = False
        self._retry_at = 0.0
        self._holders = 1
        self._own = local()
        self._url = url
        kinds = self.driver.errors
        # One who waited too long for a lock or a connection says nothing of the server.
        self._busy = (kinds.QueryCanceled, kinds.LockNotAvailable, pools.PoolTimeout)
        self._options = {
            "autocommit": True,
            "prepare_threshold": None,
            "connect_timeout": CONNECT_S,
            "application_name": "kds",
        }
        self._pool: Any = pools.ConnectionPool(
            url,
            connection_class=_limited(self.driver, timeout_s),
            min_size=0,
            max_size=CONNECTIONS,
            timeout=timeout_s,
            # Who waits is served as soon as the server is back: with 0 the pool would give up at
            # once, and let them wait for all of their time.
            reconnect_timeout=timeout_s,
            max_idle=60,
            kwargs=self._options,
            open=True,
        )

    @classmethod
    def shared(cls, url: str) -> "Server":
        """Return this process's connections to ``url``, which all its stores share.

        Each holder closes them once; with the last one they are closed.
        """
        key = (os.getpid(), url)
        with _SHARING:
            found = _SHARED.get(key)
            if found is None or found.closed:
                found = _SHARED[key] = cls(url)
            else:
                found._holders += 1
            return found

    @contextmanager
    def transaction(
        self, begin: str = "", *, limit_s: float | None = None, ahead: bool = False
    ) -> Iterator[PgConnection]:
        """Lend a connection on which ``begin`` was run, and commit when the block ends well.

        By default it acts as the role of the address, and no statement takes too long.
        ``limit_s``: how long an answer may take, when it is not the usual time. ``ahead``: a
        statement is sent before the one before is answered, unless its rows are read.
        """
        begin = begin or f"BEGIN; SET LOCAL statement_timeout = {int(self.timeout_s * 1000)}"
        if self.closed:
            raise StoreError(
                f"the connection to {self.place} was closed", where=self.place, hint="open it again"
            )
        if time.monotonic() < self._retry_at:
            raise OutageError(
                "the database could not be reached a moment ago",
                where=self.place,
                hint="it is tried again shortly",
            )
        with self.translated(time.monotonic()):
            connection = self._begun(begin, self.timeout_s if limit_s is None else limit_s)
            try:
                with connection.pipeline() if ahead else nullcontext() as pipeline:
                    yield connection
                    self._commit(connection, pipeline)
            finally:
                self._give_back(connection)  # what was not committed is undone

    @contextmanager
    def together(self) -> Iterator[None]:
        """Have all that this thread reads of a tenant while the block runs be one transaction."""
        if getattr(self._own, "held", None) is not None:
            yield
            return
        held: _Held = {}
        self._own.held = held
        try:
            yield
        finally:
            del self._own.held
            for stack, _ in held.values():
                with suppress(KdsError):  # it was read
                    stack.close()

    @contextmanager
    def reading(self, begin: str) -> Iterator[PgConnection]:
        """As `transaction`; within `together` it is the one that this thread has begun so."""
        held: _Held | None = getattr(self._own, "held", None)
        with ExitStack() as stack:
            if held and begin in held:
                known, connection = held.pop(begin)
                stack.enter_context(known)
            else:
                connection = stack.enter_context(self.transaction(begin))
            yield connection
            if held is not None:
                held[begin] = stack.pop_all(), connection

    def _commit(self, connection: PgConnection, pipeline: "psycopg.Pipeline | None") -> None:
        """Commit. When the time for a standby's word is up, the server says so in a warning, and
        calls it done: lost along with it, it was acknowledged for nothing. Raises OutageError."""
        said: list[str | None] = []

        def hear(notice: Any) -> None:
            said.append(notice.severity_nonlocalized)  # now: it is gone afterwards

        connection.add_notice_handler(hear)
        try:
            connection.execute(b"COMMIT")
            if pipeline is not None:
                pipeline.sync()
        finally:
            connection.remove_notice_handler(hear)
        if "WARNING" in said:
            self._retry_at = time.monotonic() + RETRY_S
            raise OutageError(
                "the database could not say for sure that it was stored",
                where=self.place,
                hint="a standby did not confirm it in time: is there one of those that "
                "synchronous_standby_names lists?",
            )

    def _begun(self, begin: str, limit_s: float) -> PgConnection:
        """Begin a transaction on a connection that works.

        Those that idled while the server went away are found out by that, and thrown away: asking
        each time before would cost a round trip a transaction.
        """
        kinds = self.driver.errors
        while True:
            if not self._pool.get_stats().get("pool_available"):
                # The pool would wait its whole time for a server that is away, and not say why.
                self.driver.connect(self._url, **self._options).close()
            connection: Any = self._pool.getconn()
            connection.limit_s = limit_s
            try:
                connection.execute(begin.encode())
            except BaseException as error:
                slow = isinstance(error, kinds.ConnectionTimeout)
                idled = connection.worked and (connection.closed or connection.broken)
                self._give_back(connection)
                if slow or not idled or not isinstance(error, kinds.OperationalError):
                    raise
            else:
                connection.worked = True
                return connection  # type: ignore[no-any-return]

    def _give_back(self, connection: PgConnection) -> None:
        if not connection.closed and not connection.broken:
            connection.rollback()
        self._pool.putconn(connection)

    def close(self) -> None:
        """Let go of the connections; they are closed when nobody holds them any more."""
        with _SHARING:
            self._holders -= 1
            ends = self._holders == 0
        if ends:
            self.closed = True
            self._pool.close()

    @contextmanager
    def translated(self, since: float | None = None) -> Iterator[None]:
        """Raise what goes wrong within as StoreError; MessageError for what no table can hold.

        ``since``: when the server was asked. It is left alone for as long as the answer took.
        """
        try:
            yield
        except self.driver.Error as error:
            found = _store_error(error, self.place, self.driver.errors)
            if isinstance(found, OutageError) and not isinstance(error, self._busy):
                now = time.monotonic()
                waited_s = now - (now if since is None else since)
                self._retry_at = now + min(RETRY_S, max(REFUSED_S, waited_s))
            raise found from error


def _limited(driver: Any, most_s: float) -> Any:
    """Return the driver's class of connections, with a limit; ``limit_s`` of one may be changed.

    The server's own limit (``statement_timeout``) does not hold while it stands still, while nobody
    can tell that the line is dead, nor for a commit that waits until a standby has it. What is not
    answered in time is cancelled; where that is not answered either, the connection is closed, and
    ``ConnectionTimeout`` raised.
    """

    class Limited(driver.Connection):  # type: ignore[misc]  # the library is an extra
        limit_s = most_s
        worked = False

        def wait(self, gen: Any, *how: Any, **named: Any) -> Any:
            """Wait for whatever goes over the connection."""
            return super().wait(self._within_limit(gen), *how, **named)

        def _within_limit(self, gen: Any) -> Generator[Any, Any, Any]:
            """Pass on to ``gen`` what becomes ready; the driver asks ten times a second."""
            ends, cancelled = time.monotonic() + self.limit_s + GRACE_S, False
            try:
                wanted = next(gen)
                while True:
                    ready = yield wanted
                    if not ready and time.monotonic() > ends:
                        if cancelled:
                            self.close()
                            raise driver.errors.ConnectionTimeout(
                                "the server did not answer in time"
                            )
                        with suppress(driver.Error):
                            self.cancel_safe(timeout=GRACE_S)
                        ends, cancelled = time.monotonic() + GRACE_S, True
                    wanted = gen.send(ready)
            except StopIteration as end:
                return end.value

    return Limited


def _driver() -> Any:
    return load_extra("psycopg", extra="postgres", purpose="use PostgreSQL")


def place_of(url: str) -> str:
    """Return a database's address without user, password and options.

    Raises StoreError for any other address than one of PostgreSQL.

    >>> place_of("postgresql://ann:secret@db1,db2:5433/team?sslmode=require")
    'postgresql://db1,db2:5433/team'
    """
    hint = "write postgresql://USER:PASSWORD@HOST:PORT/NAME"
    if not url.startswith(("postgresql://", "postgres://")):
        told = "the address of the database is none of PostgreSQL"
        raise StoreError(told, where="KDS_DATABASE", hint=hint)
    from psycopg.conninfo import conninfo_to_dict

    try:
        parts = conninfo_to_dict(url)
    except _driver().Error as error:  # its message may hold the password
        raise StoreError(
            "the address of the database cannot be read",
            where="KDS_DATABASE",
            hint=f"{hint}, with %40 for @ and %2F for / in a password",
        ) from error
    hosts, ports = (str(parts.get(key, "")).split(",") for key in ("host", "port"))
    if len(set(ports)) == 1:  # said once, for all of them
        ports = [*("" for _ in hosts[1:]), ports[0]]
    named = [f"{host}:{port}" if port else host for host, port in zip(hosts, ports, strict=False)]
    return f"postgresql://{','.join(named)}/{parts.get('dbname', '')}"


_REASONS: Final = (
    (("UndefinedTable", "InvalidSchemaName", "UndefinedFunction"), StoreError,
     "the database has no tables of KDS, or older ones", "make them: kds db --upgrade"),
    (("LockNotAvailable",), OutageError,
     "somebody else is writing there", "try again in a moment"),
    (("QueryCanceled",), OutageError,
     "the database took too long to answer", "try again; see kds db"),
    (("ReadOnlySqlTransaction",), OutageError, "the database is read-only: a standby, perhaps",
     "name all hosts in KDS_DATABASE, with target_session_attrs=read-write"),
    (("OperationalError",), OutageError, "the database cannot be reached",
     "is it running, and is KDS_DATABASE right? It is tried again with the next call"),
)  # fmt: skip
"""What errors of the driver say, the first that fits: its message and the fix."""


def _store_error(error: Any, place: str, kinds: Any) -> KdsError:
    """Say what went wrong. Only ``where`` has addresses and the server's own words: an answer to
    somebody else than the owner leaves it out."""
    if isinstance(error, kinds.DataError) and error.sqlstate is None:  # the driver's own word
        return MessageError("a text or a name holds a zero byte", hint="leave it out")
    text = str(error).partition("\n")[0].strip()
    where = f"{place} ({text})"
    for names, kind, message, hint in _REASONS:
        if isinstance(error, tuple(getattr(kinds, name) for name in names)):
            away = names == ("OperationalError",)
            return kind(message, where=where if away else place, hint=hint)
    constraint = isinstance(error, kinds.ForeignKeyViolation) and error.diag.constraint_name
    if constraint and constraint.endswith("_tenant_fkey"):
        return RemovedError(
            "the person was removed", hint="ask for a new token: kds team add PERSON"
        )
    message = f"the database refused (SQLSTATE {error.sqlstate})"
    hint = "see kds db"
    if isinstance(error, kinds.InsufficientPrivilege):
        hint = "the role may not do that: kds help operations says which role is for what"
    return StoreError(message, where=where, hint=hint)
