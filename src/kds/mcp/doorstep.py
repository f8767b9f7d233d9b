"""`kds mcp` over stdio: who comes is greeted at once, and the server is loaded meanwhile.

A line of the client is answered by `kds.mcp.greeting`, or kept for the server. Once that is loaded
it reads what was kept, and the `initialize` too, so that it knows the client; its answer to that
is not sent a second time.
"""

import json
import os
import threading
from collections import deque
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress
from queue import SimpleQueue
from typing import IO, TYPE_CHECKING, Final

from kds.brain.message import well_formed_json
from kds.mcp.greeting import Greeting, Json, method_of

if TYPE_CHECKING:
    from kds.mcp.mcp_server import KdsServer

PROBE: Final = "server/discover"
"""What a client of the newer protocol asks first, and gives up on after some seconds."""

END: Final = ""
"""The line after the last one, as files have it."""


class Lines:
    """The lines of a client, read in a thread so that waiting for one can be interrupted."""

    def __init__(self, file: IO[bytes]) -> None:
        self._file = file
        self._kept: deque[str] = deque()
        self._read: SimpleQueue[str | None] = SimpleQueue()
        threading.Thread(target=self._read_all, name="kds-stdin", daemon=True).start()

    def next(self) -> str | None:
        """Wait for the next line; None after `interrupt`."""
        return self._read.get()

    def interrupt(self) -> None:
        """Have `next` return without a line, once."""
        self._read.put(None)

    def keep(self, line: str) -> None:
        """Leave a line for `readline`, which the server calls."""
        self._kept.append(line)

    def drop_probes(self) -> None:
        """Forget kept probes of the newer protocol: who says `initialize` has given up on them.

        The server would take the first for a promise to speak the newer protocol, and refuse
        all that follows in the older one.
        """
        self._kept = deque(line for line in self._kept if method_of(line) != PROBE)

    def readline(self) -> str:
        """The next line, kept ones first; END at the end."""
        return self._kept.popleft() if self._kept else self._read.get() or END

    def _read_all(self) -> None:
        with suppress(OSError, ValueError), self._file as file:  # trouble is the end as well
            for line in file:
                self._read.put(well_formed_json(line.decode("utf-8", "replace")))
        self._read.put(END)


class Wire:
    """What goes to the client. The server's answer to what was answered before is left out."""

    def __init__(self, file: IO[str]) -> None:
        self._file = file
        self._answered: object = None

    def answer(self, answer: Json) -> None:
        """Send an answer before the server does."""
        if "serverInfo" in answer["result"]:  # the one request that the server is shown as well
            self._answered = answer["id"]
        self._file.write(json.dumps(answer) + "\n")
        self._file.flush()

    def write(self, text: str) -> None:
        """Send a message of the server."""
        if self._answered is not None:
            message = json.loads(text)
            if message.get("id") == self._answered and "result" in message:
                self._answered = None
                return
        self._file.write(text)

    def flush(self) -> None:
        """Send it now."""
        self._file.flush()


def greet(lines: Lines, wire: Wire, load: Callable[[], "KdsServer"]) -> "KdsServer":
    """Answer what can be answered while the server is loaded; return that.

    Raises what ``load`` raises.
    """
    greeting, pool = Greeting(), ThreadPoolExecutor(1, "kds-loading")
    loading: Future[KdsServer] | None = None
    while line := lines.next():
        known = greeting.done
        answer = greeting.answer(line)
        if answer is not None:
            wire.answer(answer)
        if greeting.done and not known:
            lines.drop_probes()
        if answer is None or not known:
            lines.keep(line)
        if loading is None:  # only now: it would hold up the first answer
            loading = pool.submit(load)
            loading.add_done_callback(lambda _: lines.interrupt())
    if line == END:
        lines.keep(END)
    return load() if loading is None else loading.result()


def claimed() -> tuple[IO[bytes], IO[str]]:
    """Stdin and stdout for the protocol alone: what else is printed goes to stderr."""
    ours = os.fdopen(os.dup(0), "rb"), os.fdopen(os.dup(1), "w", encoding="utf-8")
    nothing = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nothing, 0)
    os.close(nothing)
    os.dup2(2, 1)
    return ours
