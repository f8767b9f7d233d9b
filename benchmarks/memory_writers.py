"""Let many processes write to one conversation memory at once, and count the writes that fail.

python benchmarks/memory_writers.py [--processes N] [--writes N] [--json]
"""

import argparse
import json
import subprocess
import sys
import tempfile
from pathlib import Path
from time import perf_counter

from common import options, show

from kds.brain.errors import StoreError
from kds.brain.sessions.sqlite_store import SqliteStore

SESSION = "shared"


def main() -> None:
    """Run the writers and print what they report."""
    parser = options(__doc__, "--json", processes=8, writes=200)
    parser.add_argument("--work", help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.work:
        _work(Path(given.work), given.writes)
        return
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / SqliteStore.file_name
        with SqliteStore(path) as store:
            store.create_session(session_id=SESSION)
        started = perf_counter()
        reports = _run(path, given.processes, given.writes)
        with SqliteStore(path) as store:
            problems = store.check().problems
            stored = store.session(SESSION).message_count
    figures = {
        "processes": given.processes,
        "writes": given.processes * given.writes,
        "stored": stored,
        "errors": sum(report["errors"] for report in reports),
        "longest_wait_s": round(max(report["longest_s"] for report in reports), 2),
        "problems": len(problems),
        "wall_s": round(perf_counter() - started, 1),
    }
    show(figures, as_json=given.json)


def _run(path: Path, processes: int, writes: int) -> list[dict[str, float]]:
    command = [sys.executable, __file__, "--work", str(path), "--writes", str(writes)]
    running = [
        subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        for _ in range(processes)
    ]
    for process in running:
        assert process.stdout
        process.stdout.readline()
    for process in running:
        assert process.stdin
        process.stdin.write("go\n")
        process.stdin.flush()
    return [json.loads(process.communicate()[0]) for process in running]


def _work(path: Path, writes: int) -> None:
    print("ready", flush=True)
    sys.stdin.readline()
    errors = 0
    longest = 0.0
    with SqliteStore(path) as store:
        for number in range(writes):
            started = perf_counter()
            try:
                store.append(SESSION, "user", f"message {number} about the FAB button")
            except StoreError:
                errors += 1
            longest = max(longest, perf_counter() - started)
    print(json.dumps({"errors": errors, "longest_s": longest}))


if __name__ == "__main__":
    main()
