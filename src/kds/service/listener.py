"""Listening sockets, and the uvicorn server behind each."""

import asyncio
import contextlib
import socket
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

import uvicorn
from uvicorn.protocols.http.h11_impl import H11Protocol

from kds.service.errors import AsgiApp, ServiceError
from kds.service.instance import BACKLOG
from kds.service.security import is_loopback, peer_is_trusted

LOOPBACK: Final = "127.0.0.1"

GRACE_S: Final = 10
"""Seconds that requests in flight have to finish; a turn takes milliseconds."""

KEEP_ALIVE_S: Final = 30
"""Seconds a silent connection stays open."""


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
    return listener, HttpAddress(host, listener.getsockname()[1])


class Listener(uvicorn.Server):
    """Serves one bound socket until ``closing`` is set; then finishes what is in flight.

    uvicorn would look ten times a second whether to stop, and handle signals itself; here an
    event ends it, so that an idle service sleeps, and several listeners stop together.
    """

    def __init__(self, app: AsgiApp, closing: asyncio.Event) -> None:
        super().__init__(
            uvicorn.Config(
                app,
                http=_TrustedPeers,
                ws="none",
                lifespan="off",
                interface="asgi3",
                log_config=None,
                log_level="critical",  # its lines may quote what a client sent
                access_log=False,
                proxy_headers=False,
                server_header=False,
                date_header=False,
                backlog=BACKLOG,
                timeout_keep_alive=KEEP_ALIVE_S,
                timeout_graceful_shutdown=GRACE_S,
            )
        )
        self._closing = closing

    async def main_loop(self) -> None:
        """Wait for the end."""
        await self._closing.wait()

    @contextlib.contextmanager
    def capture_signals(self) -> Iterator[None]:
        """Leave signals to the service."""
        yield


class _TrustedPeers(H11Protocol):
    """Drops a connection of another user: the second wall behind the mode of the socket."""

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]  # as there
        super().connection_made(transport)
        if not peer_is_trusted(transport.get_extra_info("socket")):
            transport.abort()
