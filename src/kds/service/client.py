"""Asking the service of a workspace, over its unix socket or the HTTP side it names."""

import http.client
import json
import socket
from collections.abc import Mapping
from typing import Any, Final

from kds.brain.errors import KdsError, StoreError
from kds.brain.turn import Turn
from kds.brain.wire import from_wire
from kds.brain.workspace import Workspace
from kds.service.address import ServiceAddress

CONNECT_S: Final = 0.5
"""Seconds to connect on one machine: it takes well under a millisecond, or never succeeds."""

ANSWER_S: Final = 30.0
"""Seconds to wait for an answer. A turn takes milliseconds; a queue of 256 some seconds."""


class ServiceUnavailableError(KdsError):
    """There is no service, or it went away while it was asked."""


class ServiceClient:
    """Asks one service. Every call is a connection of its own, so threads may share it."""

    def __init__(self, workspace: Workspace, *, timeout_s: float = ANSWER_S) -> None:
        self._workspace = workspace
        self._address = ServiceAddress(workspace.brain)
        self._timeout_s = timeout_s

    def route(
        self, message: str, *, conversation: str | None = None, join: bool = False, log: bool = True
    ) -> Turn:
        """Have ``message`` routed; see `kds.conversations.Conversations.route`.

        Raises ServiceUnavailableError when nobody answers, KdsError as the service reports it.
        """
        asked = {
            "message": message, "conversation": conversation, "join": join, "log": log,
            "workspace": str(self._workspace.root),
        }  # fmt: skip
        return from_wire(self._ask("POST", "/route", asked))

    def health(self) -> Mapping[str, Any]:
        """What the service says of itself; see the HTTP contract in docs/service.md."""
        answer = self._ask("GET", "/healthz")
        if not isinstance(answer, dict):
            raise StoreError("the service's health is no object", hint="kds service stop")
        return answer

    def _ask(self, method: str, path: str, body: Mapping[str, object] | None = None) -> Any:
        try:
            with self._connect() as (connection, headers):
                content = None if body is None else json.dumps(body).encode()
                connection.request(method, path, content, headers)
                response = connection.getresponse()
                return _answer(response.status, response.read())
        except TimeoutError as error:
            raise KdsError(
                f"the service took longer than {self._timeout_s:g} s",
                where=str(self._address.socket_path),
                hint="see `kds service status`; the message may have been remembered",
            ) from error
        except (OSError, http.client.HTTPException) as error:
            raise ServiceUnavailableError(
                f"the service does not answer: {str(error) or type(error).__name__}",
                where=str(self._address.socket_path),
                hint="see `kds service status`",
            ) from error

    def _connect(self) -> "_Connection":
        return _Connection(self._address, self._timeout_s)


def reach(workspace: Workspace, *, timeout_s: float = ANSWER_S) -> ServiceClient | None:
    """Return a client when a service of ``workspace`` accepts connections, else None."""
    try:
        with _Connection(ServiceAddress(workspace.brain), CONNECT_S) as (connection, _):
            connection.connect()
    except OSError:
        return None
    return ServiceClient(workspace, timeout_s=timeout_s)


class _Connection:
    """One HTTP connection, closed at the end of the block, and the headers it needs."""

    def __init__(self, address: ServiceAddress, timeout_s: float) -> None:
        self._headers = {"Content-Type": "application/json", "Connection": "close"}
        self._connection: http.client.HTTPConnection
        if hasattr(socket, "AF_UNIX") and address.socket_path.exists():
            self._connection = _UnixConnection(address, timeout_s)
        else:
            self._connection = self._over_tcp(address, timeout_s)

    def __enter__(self) -> tuple[http.client.HTTPConnection, Mapping[str, str]]:
        return self._connection, self._headers

    def __exit__(self, *_: object) -> None:
        self._connection.close()

    def _over_tcp(self, address: ServiceAddress, timeout_s: float) -> http.client.HTTPConnection:
        """The HTTP side that service.json names: where there are no unix sockets (Windows)."""
        try:
            state = json.loads(address.state_path.read_bytes())
            host, port = str(state["http"]["host"]), int(state["http"]["port"])
            token = address.token_path.read_text().strip()
        except (KeyError, TypeError, ValueError) as error:
            raise FileNotFoundError("no address of a service") from error
        self._headers["Authorization"] = f"Bearer {token}"
        return http.client.HTTPConnection(host, port, timeout=timeout_s)


class _UnixConnection(http.client.HTTPConnection):
    """HTTP over the unix socket of a workspace."""

    def __init__(self, address: ServiceAddress, timeout_s: float) -> None:
        super().__init__("localhost", timeout=timeout_s)
        self._address = address
        self._timeout_s = timeout_s

    def connect(self) -> None:
        """Connect to the socket; `http.client` calls this before it writes."""
        self.sock = self._address.connect(timeout_s=CONNECT_S)
        self.sock.settimeout(self._timeout_s)


def _answer(status: int, content: bytes) -> Any:
    try:
        answer = json.loads(content) if content else None
    except ValueError as error:
        raise StoreError("the service's answer is no JSON", hint="kds service stop") from error
    if status < 400:
        return answer
    if status == http.client.SERVICE_UNAVAILABLE:
        raise ServiceUnavailableError("the service is busy or stopping", hint="try again")
    problem = answer.get("error") if isinstance(answer, dict) else None
    if not isinstance(problem, dict):
        raise KdsError(f"the service answered with status {status}", hint="kds service status")
    raise KdsError(
        str(problem.get("message")), where=problem.get("where"), hint=problem.get("hint")
    )
