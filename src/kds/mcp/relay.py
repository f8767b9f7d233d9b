"""`kds mcp` over stdio: the service answers where one runs, so the process stays small.

Every message goes by itself, to `POST /mcp` or to a server in this process, so that a service that
ends, or is replaced, breaks no connection. The greeting of the client goes along, as the SDK asks
for it first.
"""

import json
import os
import subprocess
import sys
import threading
from collections.abc import Iterable
from contextlib import suppress
from typing import Any, Final

from kds.brain.environment import routing_variables, switch
from kds.brain.errors import KdsError
from kds.brain.workspace import Workspace
from kds.hooks.call import start_service
from kds.service.service_client import (
    INSTALLATION,
    ServiceClient,
    ServiceDeclinedError,
    ServiceUnavailableError,
    reach,
)

ANSWER_S: Final = 120.0
START_S: Final = 60.0  # that a message waits for a service that ended to be there again

INTERNAL_ERROR: Final = -32603
LISTEN: Final = "subscriptions/listen"
INITIALIZED: Final = '{"jsonrpc": "2.0", "method": "notifications/initialized"}'


class Relay:
    """Has messages of one client answered. For any threads."""

    def __init__(self, workspace: Workspace) -> None:
        self._workspace = workspace
        self._greeting: str | None = None
        self._was_served = False
        self._here = threading.Lock()

    def answers(self, line: str) -> list[str]:
        """What the server says to a message. Raises KdsError where nobody can answer."""
        message = _read(line)
        if message.get("method") == "initialize":
            self._greeting = None
        elif "id" not in message:  # a notice: there is nothing it could change
            return []
        sent = [*([self._greeting, INITIALIZED] if self._greeting else []), line]
        said = self._asked(sent)
        if message.get("method") == LISTEN and len(said) > 1:  # accepted, it stays open
            return [one for one in said if "id" not in _read(one)]
        if message.get("method") == "initialize":
            self._greeting = line
        return said[1:] if len(sent) > 1 else said

    def _asked(self, messages: list[str]) -> list[str]:
        body = {"messages": messages, "variables": routing_variables()}
        for _ in range(2):
            try:
                if (client := self._client()) is None:
                    break
                said = [str(one) for one in client.ask("POST /mcp", body)["messages"]]
                self._was_served = True
                return said
            except ServiceUnavailableError:  # it ended, or is being replaced
                continue
            except ServiceDeclinedError:  # its settings are others
                break
        if INSTALLATION.is_replaced():  # what would be loaded here is of another version
            raise KdsError("no service answers", hint="start it: kds service start")
        import anyio

        from kds.mcp.mcp_server import answered  # 0.8 s of CPU

        with self._here:
            return anyio.run(answered, self._workspace, messages)

    def _client(self) -> ServiceClient | None:
        """The service that is to answer; None where none is to, or it does not come.

        One that does not run is started. It is waited for when it has answered before: at first
        some clients ask their model at once, and offer it only tools of servers that answered.
        """
        wanted = [switch(name) is not False for name in ("KDS_SERVICE", "KDS_SERVICE_AUTO")]
        found = reach(self._workspace, timeout_s=ANSWER_S) if wanted[0] else None
        if found is not None or not all(wanted):
            return found
        with suppress(OSError, subprocess.SubprocessError):
            if not self._was_served:
                start_service(str(self._workspace.root))
                return None
            command = [sys.executable, "-P", "-m", "kds", "service", "start", "--auto", "-w"]
            subprocess.run(
                [*command, self._workspace.root], timeout=START_S, check=False,
                stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
            )  # fmt: skip
        return reach(self._workspace, timeout_s=ANSWER_S)


def serve_stdio(workspace: Workspace) -> None:
    """Answer the lines of a client until stdin ends. Other output goes to stderr."""
    relay, lock, threads = Relay(workspace), threading.Lock(), list[threading.Thread]()
    answers = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)

    def write(texts: Iterable[str]) -> None:
        with lock:
            answers.writelines(f"{text}\n".encode() for text in texts)
            answers.flush()

    def answer(line: str) -> None:
        try:
            write(relay.answers(line))
        except KdsError as error:
            told = {"code": INTERNAL_ERROR, "message": str(error)}
            write([json.dumps({"jsonrpc": "2.0", "id": _read(line).get("id"), "error": told})])

    with answers, os.fdopen(os.dup(0), "rb") as lines:
        for number, line in enumerate(text.decode("utf-8", "replace") for text in lines):
            if number == 0:  # the greeting, which goes along with the others
                answer(line)
            elif line.strip():  # each in a thread: a search does not hold up the next message
                threads = [one for one in threads if one.is_alive()]
                threads.append(threading.Thread(target=answer, args=(line,)))
                threads[-1].start()
        for thread in threads:
            thread.join()


def _read(line: str) -> dict[str, Any]:
    with suppress(ValueError, RecursionError):
        found = json.loads(line)
        if isinstance(found, dict):
            return found
    return {"id": None}
