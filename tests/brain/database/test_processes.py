"""Several processes on one memory, and processes that die: real ones, no sleeps."""

import json
import subprocess
import sys
from pathlib import Path

from kds.brain.sessions.sqlite_store import SqliteStore

from ...effort import PATIENCE_S

PROCESSES = 8
MESSAGES = 25
"""Each. The issue's figure, 200, is what benchmarks/memory_writers.py runs."""

KILL = Path(__file__).resolve().parents[3] / "benchmarks" / "memory_kill.py"

WRITER = """
import sys
from pathlib import Path
from kds.brain.sessions.sqlite_store import SqliteStore

path, name, count = Path(sys.argv[1]), sys.argv[2], int(sys.argv[3])
print("ready", flush=True)
sys.stdin.readline()
with SqliteStore(path) as store:
    for number in range(count):
        store.append("shared", "user", f"{name} says {number}", message_id=f"{name}-{number}")
"""


def test_eight_processes_write_without_a_lock_error(memory_path: Path, launchers: Path) -> None:
    with SqliteStore(memory_path) as store:
        store.create_session(session_id="shared")
    writers = [
        subprocess.Popen(
            [launchers / "python-block", WRITER, memory_path, f"w{name}", str(MESSAGES)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        for name in range(PROCESSES)
    ]
    for writer in writers:
        assert writer.stdout
        assert writer.stdout.readline() == "ready\n"
    for writer in writers:
        assert writer.stdin
        writer.stdin.write("go\n")
        writer.stdin.flush()
    for writer in writers:
        _, errors = writer.communicate(timeout=120)
        assert (writer.returncode, errors) == (0, "")
    with SqliteStore(memory_path) as store:
        stored = store.messages("shared")
        assert [message.seq for message in stored] == [*range(1, PROCESSES * MESSAGES + 1)]
        assert {message.id for message in stored} == {
            f"w{name}-{number}" for name in range(PROCESSES) for number in range(MESSAGES)
        }
        assert store.check().sound


def test_processes_that_open_a_new_memory_at_once_make_one(
    memory_path: Path, launchers: Path
) -> None:
    script = (
        "import sys; from pathlib import Path; from kds.brain.sessions.sqlite_store import *;"
        "store = SqliteStore(Path(sys.argv[1])); store.create_session(); print(store.warnings)"
    )
    openers = [
        subprocess.Popen(
            [launchers / "python-block", script, memory_path],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        for _ in range(4)
    ]
    for opener in openers:
        assert opener.communicate(timeout=PATIENCE_S) == ("()\n", "")
    with SqliteStore(memory_path) as store:
        assert len(store.sessions()) == 4


def test_killed_writers_lose_nothing_that_was_acknowledged() -> None:
    """A short run of benchmarks/memory_kill.py, which runs 100 rounds."""
    done = subprocess.run(
        [sys.executable, str(KILL), "--rounds", "2", "--messages", "8", "--json"],
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.stderr == "", done.stderr
    found = json.loads(done.stdout)
    assert found["acknowledged"] >= 4
    assert (found["acknowledged_lost"], found["inconsistencies"]) == (0, 0)
