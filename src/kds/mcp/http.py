"""The server over streamable HTTP: this machine only, with a token (DESIGN 7)."""

import asyncio
import socket
from collections.abc import Callable
from typing import Any, Final

import uvicorn
from mcp.server.transport_security import TransportSecuritySettings

from kds.brain.errors import KdsError
from kds.mcp.http_address import PATH, HttpAddress
from kds.mcp.mcp_server import KdsServer
from kds.service.listener import BATCH, KEEP_ALIVE_S, AcceptFaults, Connection, queue_up
from kds.service.resident.address import ServiceAddress
from kds.service.wire.errors import AsgiApp, Receive, Scope, Send
from kds.service.wire.limits import BODY_LIMIT
from kds.service.wire.security import HttpDoor, is_loopback, open_token

GRACE_S: Final = 2
"""Seconds that open streams get to end when the server is stopped: clients hold one for as long
as they live, and would hold the server too."""


class LifespanAside:
    """ASGI layer: requests go through the door, the server's start and end do not."""

    def __init__(self, door: AsgiApp, app: AsgiApp) -> None:
        self._door = door
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass on."""
        await (self._door if scope["type"] == "http" else self._app)(scope, receive, send)


def serve_http(server: KdsServer, address: HttpAddress, *, announce: Callable[[str], None]) -> None:
    """Serve until interrupted. ``announce`` is given the line that says where, and such as tell
    that there is no room for connections.

    Raises KdsError when ``address`` is not this machine's or is taken, WorkspaceError when the
    workspace cannot be used, StoreError when there can be no token.
    """
    if not is_loopback(address.host):
        raise KdsError(
            f"'{address.host}' is not this machine",
            hint="use 127.0.0.1, ::1 or localhost, and a tunnel such as `ssh -L` from elsewhere",
        )
    workspace = server.workplace.workspace
    workspace.ensure()
    token_path = ServiceAddress(workspace.brain).token_path
    token = open_token(token_path)
    listener = _listen(address)
    bound = HttpAddress(address.host, listener.getsockname()[1])
    app = guarded_app(server, bound, token)
    config = uvicorn.Config(
        app,
        http=Connection,
        ws="none",
        log_config=None,
        log_level="error",  # anybody could fill the log with warnings about what they sent
        access_log=False,
        backlog=BATCH,
        timeout_keep_alive=KEEP_ALIVE_S,
        timeout_graceful_shutdown=GRACE_S,
    )
    place = f"kds: MCP at {bound.url}; the token is in {token_path}"
    _Announced(config, announce, place).run(sockets=[listener])


def guarded_app(server: KdsServer, address: HttpAddress, token: str) -> AsgiApp:
    """The server's ASGI application behind the door: `Host`, `Origin`, token, size."""
    names = ("127.0.0.1", "localhost", "[::1]")
    settings = TransportSecuritySettings(
        allowed_hosts=[f"{name}:*" for name in names],
        allowed_origins=[f"http://{name}:*" for name in names],
    )
    app: Any = server.streamable_http_app(
        streamable_http_path=PATH,
        host=address.host,
        max_request_body_size=BODY_LIMIT,
        transport_security=settings,
    )
    root = str(server.workplace.workspace.root)
    return LifespanAside(HttpDoor(app, {token: root}), app)


class _Announced(uvicorn.Server):
    """A server that says so once it listens, and can be stopped."""

    def __init__(self, config: uvicorn.Config, announce: Callable[[str], None], place: str) -> None:
        super().__init__(config)
        self._announce = announce
        self._place = place

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Start, and say so."""
        faults = AcceptFaults(lambda line: self._announce(f"kds: {line}"))
        asyncio.get_running_loop().set_exception_handler(faults)
        await super().startup(sockets)
        queue_up(sockets or ())
        self._announce(self._place)


def _listen(address: HttpAddress) -> socket.socket:
    family = socket.AF_INET6 if ":" in address.host else socket.AF_INET
    try:
        return socket.create_server((address.host, address.port), family=family)
    except OSError as error:
        raise KdsError(
            f"cannot listen there: {error.strerror or error}",
            where=f"{address.host}:{address.port}",
            hint="use another port, or 0 for any that is free",
        ) from error
