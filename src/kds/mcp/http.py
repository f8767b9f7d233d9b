"""The server over streamable HTTP: this machine only, with a token (DESIGN 7)."""

import asyncio
import socket
from collections.abc import Callable
from functools import partial
from typing import Any, Final

from kds.mcp.mcp_server import KdsServer
from kds.service.layers import BODY_LIMIT, AsgiApp
from kds.service.lifecycle import ended_by_signals, woken_by_signals
from kds.service.listening import HttpAddress, Listeners, bind_http
from kds.service.security import HttpDoor, open_token
from kds.service.service_client import ServiceAddress

PATH: Final = "/mcp"
"""The path that the SDKs and the clients' documentation use."""

GRACE_S: Final = 2
"""Seconds that open streams get to end when the server is stopped: clients hold one for as long
as they live, and would hold the server too."""


def serve_http(server: KdsServer, address: HttpAddress, *, announce: Callable[[str], None]) -> None:
    """Serve until a signal ends it. ``announce`` is given the line that says where, and such as
    tell that there is no room for connections.

    Raises ServiceError when ``address`` is taken, WorkspaceError when the workspace cannot be
    used, StoreError when there can be no token.
    """
    workspace = server.workplace.workspace
    workspace.ensure()
    token_path = ServiceAddress(workspace.brain).token_path
    token = open_token(token_path)
    listener, bound = bind_http(address)
    app: Any = server.streamable_http_app(
        streamable_http_path=PATH, host=bound.host, max_request_body_size=BODY_LIMIT
    )
    announce(f"kds: MCP at {bound.url}{PATH}; the token is in {token_path}")
    door = HttpDoor(app, {token: str(workspace.root)})
    asyncio.run(_serve(server, listener, door, lambda line: announce(f"kds: {line}")))


async def _serve(
    server: KdsServer, listener: socket.socket, app: AsgiApp, log: Callable[[str], None]
) -> None:
    loop, stopped = asyncio.get_running_loop(), asyncio.Event()
    stop = partial(loop.call_soon_threadsafe, stopped.set)
    with ended_by_signals(lambda _: stop()), woken_by_signals(loop):
        async with server.session_manager.run():
            listeners = Listeners(log, grace_s=GRACE_S)
            listeners.add(listener, app)
            await listeners.wait(stopped)
            await listeners.close()
