"""Listening sockets, the uvicorn server behind each, and what a connection may cost.

Loopback TCP is open to every user of the machine, and the token is looked at once there is a
request: who sends none must not take the descriptors that the unix sockets need. Nor must a program
of the user's that opens a thousand of those keep the hook out.
"""

import asyncio
import contextlib
import errno
import socket
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import cache, partial
from typing import Any, Final

import uvicorn
from uvicorn.protocols.http.h11_impl import H11Protocol, RequestResponseCycle

from kds.service.resident.address import LOOPBACK
from kds.service.resident.instance import BACKLOG
from kds.service.wire.errors import AsgiApp, LastResort, ServiceError
from kds.service.wire.limits import connection_limit
from kds.service.wire.security import NEIGHBOUR, is_loopback, neighbour_is_trusted, peer_is_trusted

GRACE_S: Final = 10
"""Seconds that requests in flight have to finish; a turn takes milliseconds."""

KEEP_ALIVE_S: Final = 30
"""Seconds a silent connection stays open after an answer."""

REQUEST_S: Final = 10.0
"""Seconds from the first byte of a request, or from the connection, to its last byte: 1 MB takes
milliseconds on one machine."""

UNREAD_S: Final = 30.0
"""Seconds that an answer may wait for its reader. Who asks and does not read would hold a
connection for ever: it needs no token for that, `/livez` will do."""

BATCH: Final = 16
"""Connections that are accepted at once, before `Connection` is asked whether there is
room; with 16, sixty or so are open for a moment. asyncio calls this the backlog."""

FAULT_PAUSE_S: Final = 60.0
"""Seconds between two lines of the log about connections that could not be accepted."""

_FULL: Final = {errno.EMFILE, errno.ENFILE, errno.ENOBUFS, errno.ENOMEM}
"""What `accept` says when the system has no room; asyncio tries again a second later."""


@dataclass(frozen=True, slots=True)
class HttpAddress:
    """Where to listen on loopback; port 0 is any free one. Raises ServiceError for other hosts."""

    host: str = LOOPBACK
    port: int = 0

    def __post_init__(self) -> None:
        if not is_loopback(self.host):
            raise ServiceError(
                f"'{self.host}' is not this machine's loopback address",
                hint="use 127.0.0.1, ::1 or localhost; to reach it from elsewhere, use ssh -L",
            )

    @property
    def url(self) -> str:
        """The address as a URL.

        >>> HttpAddress("::1", 8765).url
        'http://[::1]:8765'
        """
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"http://{host}:{self.port}"


@dataclass(frozen=True, slots=True)
class TeamAddress(HttpAddress):
    """Where a shared service listens: anywhere, for whoever has a token. TLS is the balancer's."""

    def __post_init__(self) -> None:
        """Any interface will do."""


def bind_http(address: HttpAddress) -> tuple[socket.socket, HttpAddress]:
    """Listen on loopback; returns the address with its real port. Raises ServiceError."""
    host = LOOPBACK if address.host.lower() == "localhost" else address.host
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    try:
        listener = socket.create_server((host, address.port), family=family, backlog=BACKLOG)
    except OSError as error:
        raise ServiceError(
            f"cannot listen on {address.url}: {error.strerror or error}",
            hint="choose another port, or 0 for any free one",
        ) from error
    return listener, replace(address, host=host, port=listener.getsockname()[1])


class Listener(uvicorn.Server):
    """Serves one bound socket until ``closing`` is set; then finishes what is in flight.

    uvicorn would look ten times a second whether to stop, and handle signals itself; here an
    event ends it, so that an idle service sleeps, and several listeners stop together.
    """

    def __init__(self, app: AsgiApp, closing: asyncio.Event, *, grace_s: int = GRACE_S) -> None:
        super().__init__(
            uvicorn.Config(
                app,
                http=Connection,
                ws="none",
                lifespan="off",
                interface="asgi3",
                log_config=None,
                log_level="critical",  # its lines may quote what a client sent
                access_log=False,
                proxy_headers=False,
                server_header=False,
                date_header=False,
                backlog=BATCH,
                timeout_keep_alive=KEEP_ALIVE_S,
                timeout_graceful_shutdown=grace_s,
            )
        )
        self._closing = closing

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Listen; let in a few at a time."""
        await super().startup(sockets)
        for listener in sockets or ():  # asyncio has made the queue as short: who finds it full
            listener.listen(BACKLOG)  # comes again a second later

    async def main_loop(self) -> None:
        """Wait for the end."""
        await self._closing.wait()

    @contextlib.contextmanager
    def capture_signals(self) -> Iterator[None]:
        """Leave signals to the service."""
        yield


class Listeners:
    """The listeners of the running loop: each answers from when it is added, all end together."""

    def __init__(self, log: Callable[[str], None], *, grace_s: int = GRACE_S) -> None:
        self._log = log
        self._grace_s = grace_s
        self._closing = asyncio.Event()
        self.tasks: list[asyncio.Task[None]] = []
        asyncio.get_running_loop().set_exception_handler(AcceptFaults(log))

    def add(self, listener: socket.socket, app: AsgiApp) -> None:
        """Have ``app`` answer at a bound socket."""
        server = Listener(LastResort(app, self._log), self._closing, grace_s=self._grace_s)
        self.tasks.append(asyncio.create_task(server.serve(sockets=[listener])))

    async def wait(self, stopped: asyncio.Event) -> None:
        """Return when that is set, or a listener has ended by itself."""
        stopping = asyncio.create_task(stopped.wait())
        await asyncio.wait({stopping, *self.tasks}, return_when=asyncio.FIRST_COMPLETED)
        stopping.cancel()

    async def close(self) -> None:
        """Finish what is in flight, everywhere."""
        self._closing.set()
        await asyncio.gather(*self.tasks)


class Connection(H11Protocol):
    """A connection that has to ask for something in time, and comes from a user we trust.

    uvicorn ends a connection that is silent after an answer (`timeout_keep_alive`) or sends a head
    without end (`h11_max_incomplete_event_size`; its 16 kB are left as they are). It has no limit
    for one that never asked, for one that sends a request byte by byte, nor for one that does not
    read its answers. Its
    `limit_concurrency` answers newcomers with 503 for as long as others hold what there is, so
    whoever is silent would shut everybody else out: here the silent one goes.
    """

    _deadline: asyncio.TimerHandle | None = None
    _unread: asyncio.TimerHandle | None = None
    _waits_since = 0.0

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]  # as there
        """Drop other users, the second wall behind a socket's mode; make room first."""
        connection = transport.get_extra_info("socket")
        room = self._make_room()
        super().connection_made(transport)
        if self.client:  # loopback TCP
            # asyncio does it where a socket names its protocol; without, each answer waits 40 ms.
            connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            ends = self.client, connection.getsockname()[:2]
            trusted = cache(partial(neighbour_is_trusted, *ends))
            self.app_state = {**self.app_state, NEIGHBOUR: trusted}
        self._waits_since = time.monotonic()
        if room and peer_is_trusted(connection):
            self._watch()
        else:
            self._drop()

    def data_received(self, data: bytes) -> None:
        """Look whether the request is whole now."""
        super().data_received(data)
        self._watch()

    def on_response_complete(self) -> None:
        """From now on it is one that may be dropped for another."""
        self._waits_since = time.monotonic()
        super().on_response_complete()

    def pause_writing(self) -> None:
        """The other side does not read what it is sent: it may be dropped for another, and soon."""
        super().pause_writing()
        self._waits_since = time.monotonic()
        self._unread = self.loop.call_later(UNREAD_S, self._drop)

    def resume_writing(self) -> None:
        """It has read most of it."""
        self._stop_unread()
        super().resume_writing()

    def connection_lost(self, exc: Exception | None) -> None:
        """Forget the time limits."""
        self._stop_deadline()
        self._stop_unread()
        super().connection_lost(exc)

    @property
    def _idles(self) -> bool:
        """Whether the service has nothing to do for it: it is to ask, or to read."""
        return self._unread is not None or self._waits

    @property
    def _waits(self) -> bool:
        """Whether no whole request has come since the last answer."""
        cycle: RequestResponseCycle | None = getattr(self, "cycle", None)  # None at first
        return cycle is None or cycle.response_complete or cycle.more_body

    def _watch(self) -> None:
        if not self._waits or self.transport.is_closing():
            self._stop_deadline()
        elif self._deadline is None:
            self._deadline = self.loop.call_later(REQUEST_S, self._drop)

    def _stop_deadline(self) -> None:
        if self._deadline is not None:
            self._deadline.cancel()
            self._deadline = None

    def _stop_unread(self) -> None:
        if self._unread is not None:
            self._unread.cancel()
            self._unread = None

    def _make_room(self) -> bool:
        """Drop the connection that has waited longest when there are too many.

        A newcomer that asks at once gets its answer although somebody holds all the others.
        """
        if len(self.connections) < connection_limit():
            return True
        waiting = [one for one in self.connections if isinstance(one, Connection) and one._idles]
        if not waiting:  # all of them are being answered
            return False
        min(waiting, key=lambda one: one._waits_since)._drop()
        return True

    def _drop(self) -> None:
        self._stop_deadline()
        self._stop_unread()
        self.connections.discard(self)  # `connection_lost` does it a little later
        self.transport.abort()


class AcceptFaults:
    """Handler of a loop's faults: says once a minute that connections cannot be accepted.

    asyncio would write a trace for each attempt, thousands a second when descriptors run out.
    ``clock`` returns seconds; it need not be the time of day.
    """

    def __init__(
        self, log: Callable[[str], None], *, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._log = log
        self._clock = clock
        self._told: float | None = None

    def __call__(self, loop: asyncio.AbstractEventLoop, context: dict[str, Any]) -> None:
        """Tell of a fault; of any other kind as asyncio does."""
        fault = context.get("exception")
        if not (isinstance(fault, OSError) and fault.errno in _FULL and "socket" in context):
            loop.default_exception_handler(context)
            return
        now = self._clock()
        if self._told is None or now - self._told >= FAULT_PAUSE_S:
            self._told = now
            self._log(f"cannot accept connections: {fault.strerror}")
