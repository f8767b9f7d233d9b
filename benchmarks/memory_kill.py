"""Kill processes that write to the conversation memory, and count what is lost.

    python benchmarks/memory_kill.py [--rounds N] [--writers N] [--messages N] [--json]

Each round starts writers on one database, lets them append, summarise, embed and delete, and
kills them all with SIGKILL after a random number of acknowledged messages plus a random moment.
Then the memory is opened again and examined whole: every message that was acknowledged in any
round must be there, and nothing may contradict anything else. A fifth of the rounds begins with
no database, so that the making of one is interrupted as well.
"""

import argparse
import random
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from time import perf_counter

from common import options, show

from kds.brain.errors import StoreError
from kds.brain.sessions.sqlite_store import SqliteStore

MODEL = "m"
LONGEST_WAIT_S = 0.02


@dataclass
class Findings:
    """What the rounds showed."""

    rounds: int = 0
    acknowledged: int = 0
    lost: int = 0
    inconsistencies: list[str] = field(default_factory=list)


def main() -> int:
    """Run the rounds; exit code 1 when anything was lost."""
    parser = options(__doc__, "--json", rounds=100, writers=2, messages=20, seed=5)
    parser.add_argument("--work", nargs=2, help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.work:
        _work(Path(given.work[0]), given.work[1])
        return 0
    findings = Findings()
    chance = random.Random(given.seed)
    with tempfile.TemporaryDirectory() as folder:
        known: set[str] = set()
        for number in range(given.rounds):
            path = Path(folder) / "kept" / SqliteStore.file_name
            if number % 5 == 0:
                path = Path(folder) / f"fresh-{number}" / SqliteStore.file_name
            path.parent.mkdir(exist_ok=True)
            told = _interrupted(path, given, number, chance)
            findings.acknowledged += len(told)
            if number % 5:
                told = known = known | told
            _examine(path, told, findings)
    report = {
        "rounds": findings.rounds,
        "acknowledged": findings.acknowledged,
        "acknowledged_lost": findings.lost,
        "inconsistencies": len(findings.inconsistencies),
    }
    show(report, as_json=given.json)
    for problem in findings.inconsistencies:
        print(problem, file=sys.stderr)
    return 1 if findings.lost or findings.inconsistencies else 0


def _interrupted(
    path: Path, given: argparse.Namespace, number: int, chance: random.Random
) -> set[str]:
    """Start writers, kill them, and return the ids of the messages they had acknowledged."""
    command = [sys.executable, __file__, "--work", str(path)]
    running = [
        subprocess.Popen([*command, f"{number}-{writer}"], stdout=subprocess.PIPE, text=True)
        for writer in range(given.writers)
    ]
    told: set[str] = set()
    for process in running:
        assert process.stdout
        for _ in range(chance.randint(1, given.messages)):
            told |= set(process.stdout.readline().split())
    end = perf_counter() + chance.random() * LONGEST_WAIT_S
    while perf_counter() < end:
        pass
    for process in running:
        process.kill()
    for process in running:
        rest, _ = process.communicate()
        if process.returncode != -signal.SIGKILL:
            raise SystemExit(f"a writer ended by itself: exit code {process.returncode}")
        # The last line may be half a line.
        told |= set(rest[: rest.rfind("\n") + 1].split())
    return told - {"ready"}


def _examine(path: Path, told: set[str], findings: Findings) -> None:
    findings.rounds += 1
    try:
        with SqliteStore(path) as store:
            findings.inconsistencies += [*store.warnings, *store.check().problems]
            stored = {
                message.id
                for session in store.sessions(limit=10_000)
                for message in store.messages(session.id)
            }
    except StoreError as error:
        findings.inconsistencies.append(str(error))
        return
    findings.lost += len(told - stored)


def _work(path: Path, name: str) -> None:
    """Write until killed, telling each message once it is stored."""
    print("ready", flush=True)
    store = SqliteStore(path)
    store.use_model(MODEL)
    session = store.create_session().id
    for number, text in enumerate(_texts()):
        message = store.append(session, "user", text, message_id=f"{name}-{number}")
        print(message.id, flush=True)
        if number % 5 == 4:
            jobs = store.pending_embeddings(8)
            store.store_embeddings(MODEL, {job.chunk_id: [1.0, number, 2.0] for job in jobs})
        if number % 7 == 6:
            store.add_summary(session, 1, message.seq, text, kind="periodic")
        if number % 12 == 11:
            doomed = store.create_session().id
            store.append(doomed, "assistant", text)
            store.delete_session(doomed)


def _texts() -> Iterator[str]:
    number = 0
    while True:
        number += 1
        yield f"Message {number} changes `get_user_{number}` in the header.\n" + "word " * number
        yield f"Look:\n```python\ndef getUser{number}(row):\n    return row\n```\nThat was it."


if __name__ == "__main__":
    sys.exit(main())
