"""`kds mcp --http` for tools that cannot send a token: a proxy on loopback that adds it.

Neither the Inspector's command line (0.15) nor the conformance suite (0.1) has an option for
headers. The server keeps its token; the proxy lives as long as a test.
"""

import socket
import subprocess
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import urlsplit

import httpx
import uvicorn
from starlette.applications import Starlette
from starlette.background import BackgroundTask
from starlette.requests import Request
from starlette.responses import StreamingResponse
from starlette.routing import Route

from .conftest import KDS

HOP_BY_HOP = {"connection", "transfer-encoding", "authorization", "date", "server"}
STARTED = "kds: MCP at "
TIMEOUT_S = 120


@contextmanager
def serving_mcp(workspace: Path) -> Iterator[str]:
    """Start `kds mcp --http` for a workspace; yields a URL that needs no token."""
    command = [KDS, "mcp", "--http", "0", "--workspace", workspace]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as server:
        assert server.stderr is not None
        try:
            line = server.stderr.readline()
            assert line.startswith(STARTED), line
            threading.Thread(target=server.stderr.read, daemon=True).start()  # it must not fill up
            upstream, _, place = line.removeprefix(STARTED).partition("; the token is in ")
            token = Path(place.strip()).read_text().strip()
            with _proxy(upstream, token) as url:
                yield url
        finally:
            server.terminate()


@contextmanager
def _proxy(upstream: str, token: str) -> Iterator[str]:
    async def pass_on(request: Request) -> StreamingResponse:
        """Hand a request on with the token, `Host` and `Origin` as they came."""
        client = httpx.AsyncClient(timeout=TIMEOUT_S)
        told = {"authorization": f"Bearer {token}", **_kept(request.headers)}
        body = await request.body()
        asked = client.build_request(request.method, upstream, headers=told, content=body)
        reply = await client.send(asked, stream=True)
        pieces, ends = reply.aiter_raw(), BackgroundTask(client.aclose)
        return StreamingResponse(pieces, reply.status_code, _kept(reply.headers), background=ends)

    path = urlsplit(upstream).path
    app = Starlette(routes=[Route(path, pass_on, methods=["GET", "POST", "DELETE", "OPTIONS"])])
    listener = socket.create_server(("127.0.0.1", 0))
    config = uvicorn.Config(app, lifespan="off", log_level="error", timeout_graceful_shutdown=1)
    server = uvicorn.Server(config)
    thread = threading.Thread(target=server.run, args=([listener],))
    thread.start()
    try:
        yield f"http://127.0.0.1:{listener.getsockname()[1]}{path}"
    finally:
        server.should_exit = True
        thread.join()
        listener.close()


def _kept(headers: Mapping[str, str]) -> dict[str, str]:
    return {name: value for name, value in headers.items() if name.lower() not in HOP_BY_HOP}
