"""Services that write to PostgreSQL without a pause, for postgres_kill.py; and what is there of it.

Each is a process of this file that appends messages and logs contexts, in a conversation of its
own. A message counts as acknowledged once `append` has returned, an entry of the context once
`log` has returned without a warning.
"""

import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from itertools import count
from time import monotonic, sleep
from typing import Any

from kds.brain.clock import utc_now
from kds.brain.errors import OutageError
from kds.brain.patience import Patience
from kds.brain.postgres.postgres_store import PostgresStore
from kds.brain.postgres.server import Server
from kds.brain.postgres.tenancy import Tenancy, tenant_number
from kds.brain.postgres.tenant_contexts import PostgresContexts
from kds.brain.turn import ContextEntry

NAMES = ("acme", "ann", "shop")
PAUSE_S = 0.05
PATIENCE_S = 60


class Writer:
    """A service, and what it acknowledged: moment, number, whether of the context."""

    def __init__(self, url: str, name: str) -> None:
        self.name = name
        self.told: list[tuple[float, str, str]] = []
        self._url = url
        self._generation = 0
        self.start()

    def start(self) -> None:
        """Begin, or begin again as another process."""
        self._generation += 1
        command = [sys.executable, __file__, self._url, self.name, str(self._generation)]
        self.process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
        threading.Thread(target=self._listen, args=(self.process,), daemon=True).start()

    def kill(self) -> None:
        """End it at once."""
        self.process.send_signal(signal.SIGKILL)
        self.process.wait()

    def since(self, moment: float, what: str = "message") -> list[float]:
        """When it acknowledged something after a moment."""
        return [at for at, kind, _ in list(self.told) if at > moment and kind == what]

    def _listen(self, process: "subprocess.Popen[str]") -> None:
        assert process.stdout
        for line in process.stdout:
            parts = line.split()
            if line.endswith("\n") and len(parts) == 3:  # the last line may be half a line
                self.told.append((float(parts[0]), parts[1], parts[2]))


@contextmanager
def writing(url: str, number: int) -> Iterator[list[Writer]]:
    """Start services that write, and kill them in the end."""
    writers = [Writer(url, f"w{one}") for one in range(number)]
    try:
        wait_until(lambda: all(one.told for one in writers), "the services do not write")
        yield writers
    finally:
        for one in writers:
            one.kill()


def wait_until(ready: Callable[[], bool], else_say: str) -> None:
    """Wait for something of another process."""
    if not Patience(PATIENCE_S).until(ready, pause_s=PAUSE_S):
        raise SystemExit(else_say)


def examined(url: str, writers: list[Writer]) -> dict[str, Any]:
    """Compare what was acknowledged with what is there."""
    server = Server(url)
    tenancy = Tenancy(server, tenant_number(server, NAMES))
    contexts = PostgresContexts(lambda: tenancy)
    lost, problems, acknowledged = [], [], 0
    with PostgresStore(server, tenancy.tenant) as store:
        problems += store.check().problems
        for writer in writers:
            told = [what for _, kind, what in writer.told if kind == "message"]
            stored = [one.id for one in store.messages(writer.name)]
            acknowledged += len(told)
            lost += sorted(set(told) - set(stored))
            if [one for one in stored if one in set(told)] != told:
                problems.append(f"{writer.name}: out of order")
            logged = [what for _, kind, what in writer.told if kind == "context"]
            entries = [one.user_message for one in contexts.journal(writer.name).load().entries]
            acknowledged += len(logged)
            # Ten are kept: of those told last, none may be missing that another did not replace.
            lost += [one for one in logged[-1:] if one not in entries]
            if sorted(entries, key=_order) != entries:
                problems.append(f"{writer.name}: the context is out of order")
    server.close()
    return {"acknowledged": acknowledged, "lost": len(lost), "problems": problems}


def _order(entry: str) -> tuple[int, ...]:
    return tuple(int(part) for part in entry.split("-")[1:])


def _work(url: str, name: str, generation: str) -> None:
    """Write until killed, telling each message and each entry once it is stored."""
    server = Server(url)
    number = _patient(lambda: tenant_number(server, NAMES))
    tenancy = Tenancy(server, number)
    contexts = PostgresContexts(lambda: tenancy)
    store = PostgresStore(server, number)
    if _patient(lambda: store.find_session(name)) is None:
        _patient(lambda: store.create_session(session_id=name))
    print(monotonic(), "ready", "-", flush=True)
    for one in count():
        text = f"{name}-{generation}-{one}"
        _patient(lambda text=text: store.append(name, "user", text, message_id=text))
        print(monotonic(), "message", text, flush=True)
        journal = contexts.journal(name)
        with journal.alone():
            warnings = journal.load().warnings
            warnings += journal.log(ContextEntry(utc_now(), text, "PLAN")).warnings
        if not warnings:
            print(monotonic(), "context", text, flush=True)


def _patient(call: Callable[[], Any]) -> Any:
    """Try until the server is there: what clients of a service do."""
    while True:
        try:
            return call()
        except OutageError:
            sleep(PAUSE_S)


if __name__ == "__main__":
    _work(*sys.argv[1:])
