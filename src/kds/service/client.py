"""Asking the service of a workspace, over its unix socket or the HTTP side it names."""

import http.client
import importlib
import ipaddress
import json
import os
import socket
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

from kds.brain.errors import KdsError, StoreError
from kds.brain.private_file import read_private
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
        """The HTTP side that service.json names: where there are no unix sockets (Windows).

        A project may bring such a file along: only one of our own making is believed, and only
        as far as this machine.
        """
        try:
            state = json.loads(_own_content(address.state_path))
            host, port = str(state["http"]["host"]), int(state["http"]["port"])
            token = _own_content(address.token_path).decode("ascii").strip()
            ours = ipaddress.ip_address(host).is_loopback and _is_held(address.lock_path)
        except (KeyError, TypeError, ValueError, StoreError) as error:
            raise FileNotFoundError("no address of a service") from error
        if not ours:
            raise ConnectionRefusedError("service.json names no service of ours")
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


def _own_content(path: Path) -> bytes:
    """The content of a file that this user made for itself. Raises StoreError and OSError."""
    content = read_private(path)
    if content is None:
        raise FileNotFoundError(path)
    status = path.lstat()
    if hasattr(os, "geteuid") and (status.st_uid != os.geteuid() or status.st_mode & 0o077):
        raise StoreError("the file is not private", where=str(path), hint=f"rm {path}")
    return content


def _is_held(lock: Path) -> bool:
    """Whether a process holds the lock, where that can be asked without taking it (POSIX)."""
    try:
        fcntl = importlib.import_module("fcntl")
    except ImportError:
        return True
    with lock.open("rb") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
        except OSError:
            return True
    return False


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
