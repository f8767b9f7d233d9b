"""Listening sockets, with uvicorn behind each."""

import asyncio
import contextlib
import socket
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final

import uvicorn
from starlette.types import ASGIApp

from kds.brain.errors import StoreError
from kds.brain.files import PrivateFile
from kds.service.errors import ServiceError, describe_fault
from kds.service.lifecycle import BACKLOG
from kds.service.security import is_loopback
from kds.service.service_client import LOOPBACK

GRACE_S: Final = 10  # seconds that requests in flight have to finish: the slowest measured took 1.3

KEEP_ALIVE_S: Final = 30  # seconds a silent connection stays open after an answer

PAGE_PORT: Final = 5370
"""Where the web page is, so that bookmarks last; where it is taken, at one of the next twenty."""


@dataclass(frozen=True, slots=True)
class HttpAddress:
    """Where to listen; port 0 is any free one.

    On loopback alone, unless ``team``: then on any interface, and a balancer in front has TLS and
    limits connections. Raises ServiceError for other hosts.
    """

    host: str = LOOPBACK
    port: int = 0
    team: bool = False

    def __post_init__(self) -> None:
        if not self.team and not is_loopback(self.host):
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


def bind_http(address: HttpAddress) -> tuple[socket.socket, HttpAddress]:
    """Bind; returns the address with its real port. Raises ServiceError."""
    host = LOOPBACK if address.host.lower() == "localhost" else address.host
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    try:
        made = socket.create_server((host, address.port), family=family, backlog=BACKLOG)
    except OSError as error:
        raise ServiceError(
            f"cannot listen on {address.url}: {error.strerror or error}",
            hint="choose another port, or 0 for any free one",
        ) from error
    # With its protocol known, asyncio sets TCP_NODELAY: else each answer waits 40 ms.
    listener = socket.socket(fileno=made.detach())
    return listener, replace(address, host=host, port=listener.getsockname()[1])


def bind_page(noted: Path) -> tuple[socket.socket, HttpAddress]:
    """Bind where the page was the last time (``noted``), else near PAGE_PORT, else anywhere."""
    known = 0
    with contextlib.suppress(StoreError, ValueError):
        known = int(PrivateFile(noted).read() or b"0")
    for port in (known or PAGE_PORT, *range(PAGE_PORT, PAGE_PORT + 21)):
        with contextlib.suppress(ServiceError, OverflowError):
            listener, address = bind_http(HttpAddress(port=port))
            break
    else:
        listener, address = bind_http(HttpAddress())
    with contextlib.suppress(StoreError):  # it serves all the same
        if address.port != known:
            PrivateFile(noted).replace(b"%d\n" % address.port)
    return listener, address


class Listeners:
    """The listeners of the running loop: each answers from when it is added, all end together."""

    def __init__(self, log: Callable[[str], None]) -> None:
        self._closing = asyncio.Event()
        self._tasks: list[asyncio.Task[None]] = []

        def tell(_: asyncio.AbstractEventLoop, context: dict[str, Any]) -> None:
            """One line for a fault of the loop, such as a lack of descriptors, and never a text."""
            fault = context.get("exception")
            log(f"event loop: {describe_fault(fault) if fault else context.get('message')}")

        asyncio.get_running_loop().set_exception_handler(tell)

    def add(self, listener: socket.socket, app: ASGIApp) -> None:
        """Have ``app`` answer at a bound socket."""
        serving = _Server(app, self._closing).serve(sockets=[listener])
        self._tasks.append(asyncio.create_task(serving))

    async def close(self) -> None:
        """Finish what is in flight, everywhere."""
        self._closing.set()
        await asyncio.gather(*self._tasks)


class _Server(uvicorn.Server):
    """Serves one socket until ``closing`` is set; then finishes what is in flight.

    uvicorn would look ten times a second whether to stop, and handle signals itself; here an
    event ends it, so that an idle service sleeps, and several listeners stop together.
    """

    def __init__(self, app: ASGIApp, closing: asyncio.Event) -> None:
        super().__init__(
            uvicorn.Config(
                app, http="h11", ws="none", lifespan="off", interface="asgi3", log_config=None,
                log_level="critical",  # its lines may quote what a client sent
                access_log=False, proxy_headers=False, server_header=False, date_header=False,
                timeout_keep_alive=KEEP_ALIVE_S, timeout_graceful_shutdown=GRACE_S,
            )
        )  # fmt: skip
        self._closing = closing

    async def main_loop(self) -> None:
        await self._closing.wait()

    @contextlib.contextmanager
    def capture_signals(self) -> Iterator[None]:
        yield
