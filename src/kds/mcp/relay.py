"""`kds mcp` beside a running service, which answers: the process that a client starts stays small.

Every message goes to `POST /mcp` by itself, so that a service that ends, or is replaced, breaks no
connection. The greeting of the client goes along, as the SDK asks for it first.
"""

import json
import subprocess
import sys
import threading
from collections.abc import Iterable
from contextlib import suppress
from typing import IO, Any, Final

from kds.brain.environment import routing_variables, switch
from kds.brain.errors import KdsError
from kds.brain.workspace import Workspace
from kds.hooks.call import start_service
from kds.service.service_client import ServiceClient, ServiceUnavailableError, reach

ANSWER_S: Final = 120.0
START_S: Final = 60.0
"""Seconds that a message waits for a service that ended to be there again."""

INTERNAL_ERROR: Final = -32603
LISTEN: Final = "subscriptions/listen"
INITIALIZED: Final = '{"jsonrpc": "2.0", "method": "notifications/initialized"}'


def client_of(workspace: Workspace, *, wait: bool) -> ServiceClient | None:
    """The service that is to answer; None where none is to, or it does not come.

    One that does not run is started. Without ``wait`` that is for others: some clients ask their
    model at once, and offer it the tools of those servers alone that have answered.
    """
    wanted = [switch(name) is not False for name in ("KDS_SERVICE", "KDS_SERVICE_AUTO")]
    if not wanted[0]:
        return None
    found = reach(workspace, timeout_s=ANSWER_S)
    if found is None and all(wanted):
        with suppress(OSError, subprocess.SubprocessError):
            if not wait:
                start_service(str(workspace.root))
                return None
            command = [sys.executable, "-P", "-m", "kds", "service", "start", "--auto", "-w"]
            subprocess.run(
                [*command, workspace.root], timeout=START_S, check=False,
                stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
            )  # fmt: skip
        found = reach(workspace, timeout_s=ANSWER_S) if wait else None
    return found


class Relay:
    """Hands messages of one client to the service. For any threads."""

    def __init__(self, workspace: Workspace) -> None:
        self._workspace = workspace
        self._greeting: str | None = None
        self._greeted = False

    def answers(self, line: str) -> list[str]:
        """What the server says to a message. Raises KdsError where no service does."""
        message = _read(line)
        if message.get("method") == "initialize":
            self._greeting = None
        elif "id" not in message:  # a notice: there is nothing it could change
            return []
        sent = [*([self._greeting, INITIALIZED] if self._greeting else []), line]
        said = self._asked(sent)
        if message.get("method") == LISTEN and len(said) > 1:  # accepted, it stays open
            return [one for one in said if "id" not in _read(one)]
        self._greeted = True
        if message.get("method") == "initialize":
            self._greeting = line
        return said[1:] if len(sent) > 1 else said

    def _asked(self, messages: list[str]) -> list[str]:
        body = {"messages": messages, "variables": routing_variables()}
        for attempt in range(2):
            client = client_of(self._workspace, wait=self._greeted)
            if client is None:
                break
            try:
                return [str(one) for one in client.mcp(body)]
            except ServiceUnavailableError:  # it ended, or is being replaced
                if attempt:
                    raise
        raise KdsError("no service answers", hint="start it: kds service start")


def relay(workspace: Workspace, lines: IO[bytes], answers: IO[bytes]) -> bytes:
    """Have the service answer a client's lines until they end.

    Where none does, the first line is returned, unanswered.
    """
    first, hand, lock = lines.readline(), Relay(workspace), threading.Lock()
    threads: list[threading.Thread] = []

    def write(texts: Iterable[str]) -> None:
        with lock:
            answers.writelines(f"{text}\n".encode() for text in texts)
            answers.flush()

    def answer(line: str) -> None:
        try:
            write(hand.answers(line))
        except KdsError as error:
            told = {"code": INTERNAL_ERROR, "message": str(error)}
            write([json.dumps({"jsonrpc": "2.0", "id": _read(line).get("id"), "error": told})])

    try:
        write(hand.answers(first.decode("utf-8", "replace")) if first.strip() else [])
    except KdsError:
        return first
    for line in lines:  # each in a thread: a search does not hold up the next message
        if line.strip():
            threads = [one for one in threads if one.is_alive()]
            threads.append(threading.Thread(target=answer, args=(line.decode("utf-8", "replace"),)))
            threads[-1].start()
    for thread in threads:
        thread.join()
    return b""


def _read(line: str) -> dict[str, Any]:
    with suppress(ValueError, RecursionError):
        found = json.loads(line)
        if isinstance(found, dict):
            return found
    return {"id": None}
