"""Asking the query service of KDS: the reference client (docs/history-transit.md).

Standard library only. `client.mjs` is the same for Node, which editor extensions run on.
"""

import http.client
import json
import socket
import uuid
from collections.abc import Mapping
from contextlib import closing
from dataclasses import dataclass, field
from typing import Any, Final
from urllib.parse import quote, urlsplit

from kds.transit.history import Message, transit

UNIX: Final = "unix:"
TIMEOUT_S: Final = 90.0  # a model may take its minute (`KDS_MODEL_TIMEOUT_S`), and then some


class QueryError(Exception):
    """The question was not answered; the history is as it was, so it can be asked again.

    ``status`` is that of HTTP, 0 when the service was not reached; ``where`` names the field or
    the file that is wrong, ``hint`` says what to do.
    """

    def __init__(
        self, message: str, *, status: int = 0, where: str | None = None, hint: str | None = None
    ) -> None:
        super().__init__(f"{where}: {message}" if where else message)
        self.status, self.where, self.hint = status, where, hint


@dataclass
class QueryClient:
    """One conversation with the query service; not for several threads at once.

    ``address`` is "unix:/path/of/service.sock", or "http://127.0.0.1:8765" with the ``token`` out
    of `service.token`; `kds service status` names both. ``workspace`` is the folder that holds
    `kds-brain/`. Under ``session_id``, a new UUID for every client, the service remembers the
    conversation; with None it remembers nothing.
    """

    address: str
    token: str | None = None
    workspace: str | None = None
    session_id: str | None = field(default_factory=lambda: str(uuid.uuid4()))
    source_path: str | None = None
    timeout_s: float = TIMEOUT_S
    history: list[Message] = field(default_factory=list)

    def ask(self, query: str, **options: object) -> dict[str, Any]:
        """Ask ``query`` with the conversation so far, and add both to it; return the reply.

        ``options`` are further fields of the request. Raises QueryError.
        """
        sent = {
            "query": query,
            "conversation_context": [message.as_dict() for message in self.history],
            "session_id": self.session_id,
            "source_path": self.source_path,
            **options,
        }
        data = self._post({name: value for name, value in sent.items() if value is not None})
        if "rewritten_query" not in data or not isinstance(data.get("chunks"), list):
            raise QueryError("not an answer to a question", hint="is it a KDS service?")
        answer = data.get("answer")
        replies = [Message("assistant", str(answer))] if answer else []
        self.history = transit([*self.history, Message("user", query), *replies])
        return data

    def _post(self, sent: Mapping[str, object]) -> dict[str, Any]:
        headers = {"Content-Type": "application/json", "Connection": "close"}
        if self.workspace:
            headers["Kds-Workspace"] = quote(self.workspace)
        if self.token and (token := self.token.strip()):
            headers["Authorization"] = f"Bearer {token}"
        try:
            with closing(_connection(self.address, self.timeout_s)) as connection:
                connection.request("POST", "/query", json.dumps(sent).encode(), headers)
                response = connection.getresponse()
                status, content = response.status, response.read()
        except TimeoutError as error:
            text, hint = f"no answer within {self.timeout_s:g} s", "see `kds service status`"
            raise QueryError(text, hint=hint) from error
        except (OSError, http.client.HTTPException) as error:
            text = f"the service does not answer: {str(error) or type(error).__name__}"
            raise QueryError(text, hint="start it: kds service start") from error
        try:
            data = json.loads(content)
        except ValueError as error:
            hint = "is it a KDS service?"
            raise QueryError("the answer is not JSON", status=status, hint=hint) from error
        known: dict[str, Any] = data if isinstance(data, dict) else {}
        if status < 400 and isinstance(data, dict):
            return known
        problem = known.get("error")
        said: Mapping[str, Any] = problem if isinstance(problem, dict) else {}
        message = str(said.get("message") or f"the service answered with status {status}")
        raise QueryError(message, status=status, where=said.get("where"), hint=said.get("hint"))


def _connection(address: str, timeout_s: float) -> http.client.HTTPConnection:
    if address.startswith(UNIX):
        return _UnixConnection(address.removeprefix(UNIX), timeout=timeout_s)
    try:
        parts = urlsplit(address)
        host, port = parts.hostname, parts.port
    except ValueError:
        host = port = None
    if not host or parts.scheme not in ("http", "https"):
        raise QueryError(f"invalid address '{address}'", hint="write unix:PATH or http://HOST:PORT")
    kind = http.client.HTTPSConnection if parts.scheme == "https" else http.client.HTTPConnection
    return kind(host, port, timeout=timeout_s)


class _UnixConnection(http.client.HTTPConnection):
    """HTTP over a unix socket, whose path is in the place of the host."""

    def connect(self) -> None:
        self.sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self.sock.settimeout(self.timeout)
        self.sock.connect(self._path)

    def __init__(self, path: str, *, timeout: float) -> None:
        super().__init__("localhost", timeout=timeout)
        self._path = path
