"""`kds mcp --http` for tools that cannot send a token: a proxy on loopback that adds it.

Neither the Inspector's command line (0.15) nor the conformance suite (0.1) has an option for
headers. The server keeps its token; the proxy lives as long as a test.
"""

import http.client
import subprocess
import sysconfig
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

KDS = Path(sysconfig.get_path("scripts")) / "kds"

HOP_BY_HOP = {"connection", "transfer-encoding", "authorization", "date", "server"}
STARTED = "kds: MCP at "


@contextmanager
def serving_mcp(workspace: Path) -> Iterator[str]:
    """Start `kds mcp --http` for a workspace; yields a URL that needs no token."""
    command = [KDS, "mcp", "--http", "0", "--workspace", workspace]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as server:
        assert server.stderr is not None
        line = server.stderr.readline()
        assert line.startswith(STARTED), line + server.stderr.read()
        threading.Thread(target=server.stderr.read, daemon=True).start()  # it must not fill up
        upstream = line.removeprefix(STARTED).partition(";")[0]
        token = (workspace / "kds-brain" / "service.token").read_text().strip()
        try:
            with _proxy(upstream, token) as url:
                yield url
        finally:
            server.terminate()


@contextmanager
def _proxy(upstream: str, token: str) -> Iterator[str]:
    target = urlsplit(upstream)
    handler = type("_Bound", (_Handler,), {"netloc": target.netloc, "token": token})
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        try:
            yield f"http://127.0.0.1:{server.server_port}{target.path}"
        finally:
            server.shutdown()


class _Handler(BaseHTTPRequestHandler):
    """Passes a request on with the token, `Host` and `Origin` as they came; streams the reply."""

    netloc: str
    token: str
    protocol_version = "HTTP/1.1"

    def do_POST(self) -> None:  # the name that http.server looks for
        self._pass_on()

    do_GET = do_DELETE = do_OPTIONS = do_POST  # noqa: N815

    def log_message(self, format: str, *args: Any) -> None:
        """Say nothing."""

    def _pass_on(self) -> None:
        body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        connection = http.client.HTTPConnection(self.netloc, timeout=120)
        try:
            connection.putrequest(self.command, self.path, skip_host=True)
            for name, value in self.headers.items():
                if name.lower() not in HOP_BY_HOP | {"accept-encoding"}:
                    connection.putheader(name, value)
            connection.putheader("Authorization", f"Bearer {self.token}")
            connection.endheaders(body)
            self._reply(connection.getresponse())
        except OSError:  # one of the two hung up
            pass
        finally:
            connection.close()

    def _reply(self, response: http.client.HTTPResponse) -> None:
        self.close_connection = True
        self.send_response(response.status)
        for name, value in response.getheaders():
            if name.lower() not in HOP_BY_HOP:
                self.send_header(name, value)
        self.send_header("Connection", "close")
        self.end_headers()
        while chunk := response.read1(65_536):
            self.wfile.write(chunk)
            self.wfile.flush()
