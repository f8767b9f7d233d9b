"""Several processes on one context, and processes that die: real ones, no sleeps."""

import json
import signal
from pathlib import Path

import pytest

from kds.brain.context.journal import LIMIT, ContextJournal

from ...effort import PATIENCE_S
from ..conftest import Start

PROCESSES = 8
MESSAGES = 50

HEAD = """
import json, os, resource, signal, sys
from pathlib import Path
from kds.brain.clock import utc_now
from kds.brain.context.journal import ContextJournal
from kds.brain.errors import StoreError
from kds.brain.turn import ContextEntry
"""

WRITER = f"""{HEAD}
path, name, count = Path(sys.argv[1]), sys.argv[2], int(sys.argv[3])
journal = ContextJournal(path)
print(os.getpid(), flush=True)
sys.stdin.readline()
for number in range(count):
    logged = journal.log(ContextEntry(utc_now(), name + ":" + str(number), "EXECUTE"))
    kept = [entry.user_message for entry in logged.entries]
    print(json.dumps([kept, list(logged.warnings)]), flush=True)
"""


def run_at_once(start: Start, path: Path) -> list[tuple[str, list[str]]]:
    """Let all writers go at the same moment: (own message, what was kept after it) of each."""
    writers = [start(WRITER, path, f"w{n}", MESSAGES) for n in range(PROCESSES)]
    for writer in writers:
        assert writer.stdout
        assert writer.stdout.readline().strip().isdigit()
    for writer in writers:
        print("go", file=writer.stdin, flush=True)
    steps = []
    for name, writer in enumerate(writers):
        out, err = writer.communicate(timeout=100)
        assert writer.returncode == 0, err
        for number, line in enumerate(out.splitlines()):
            kept, warnings = json.loads(line)
            assert warnings == []
            steps.append((f"w{name}:{number}", kept))
    return steps


EVERY = {f"w{n}:{number}" for n in range(PROCESSES) for number in range(MESSAGES)}


def test_of_400_concurrent_messages_the_last_ten_are_kept(tmp_path: Path, start: Start) -> None:
    path = tmp_path / "kds-brain" / "context.jsonl"
    steps = run_at_once(start, path)
    # What each write saw tells the order of all writes: every one names the one before it.
    after: dict[str | None, str] = {(None, *kept)[-2]: own for own, kept in steps}
    order: list[str] = []
    at: str | None = after.pop(None)
    while at is not None:
        order.append(at)
        at = after.pop(at, None)
    assert set(order) == EVERY
    seen = dict(steps)
    for index, own in enumerate(order):
        assert seen[own] == order[max(0, index + 1 - LIMIT) : index + 1]
    loaded = ContextJournal(path).load()
    assert [entry.user_message for entry in loaded.entries] == order[-LIMIT:]
    assert loaded.warnings == ()
    left = sorted(file.name for file in path.parent.iterdir())
    assert left == ["context.jsonl", "context.jsonl.lock"]


DYING = f"""{HEAD}
def die(*arguments, **options):
    os.kill(os.getpid(), signal.SIGKILL)

journal = ContextJournal(Path(sys.argv[1]))
journal.log(ContextEntry(utc_now(), "first", "PLAN"))
calls = 0
real = os.fsync

def fsync(descriptor):
    global calls
    calls += 1
    if calls == int(sys.argv[3]):
        die()
    real(descriptor)

if sys.argv[2] == "fsync":
    os.fsync = fsync
elif sys.argv[2] == "rename":
    Path.replace = die
journal.log(ContextEntry(utc_now(), "second", "EXECUTE"))
"""


@pytest.mark.parametrize(
    ("where", "call", "kept"),
    [
        ("fsync", 1, ["first"]),
        ("rename", 0, ["first"]),
        ("fsync", 2, ["first", "second"]),
    ],
)
def test_a_death_in_the_middle_of_a_write_keeps_the_old_file_or_the_new_one(
    tmp_path: Path, start: Start, where: str, call: int, kept: list[str]
) -> None:
    path = tmp_path / "context.jsonl"
    dying = start(DYING, path, where, call)
    _, err = dying.communicate(timeout=PATIENCE_S)
    assert dying.returncode == 128 + signal.SIGKILL, err
    loaded = ContextJournal(path).load()
    assert [entry.user_message for entry in loaded.entries] == kept
    assert loaded.warnings == ()
    start(WRITER, path, "last", 1).communicate("go\n", timeout=PATIENCE_S)
    assert sorted(one.name for one in tmp_path.iterdir()) == ["context.jsonl", "context.jsonl.lock"]


FULL = f"""{HEAD}
path = Path(sys.argv[1])
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
journal = ContextJournal(path)
journal.log(ContextEntry(utc_now(), "first", "PLAN"))
before = path.read_bytes()
resource.setrlimit(resource.RLIMIT_FSIZE, (len(before) + 10, len(before) + 10))
try:
    journal.log(ContextEntry(utc_now(), "second " * 100, "PLAN"))
except StoreError as error:
    print(error)
assert path.read_bytes() == before
print(sorted(file.name for file in path.parent.iterdir()))
"""


def test_a_write_without_room_is_an_error_and_loses_nothing(tmp_path: Path, start: Start) -> None:
    full = start(FULL, tmp_path / "context.jsonl")
    out, err = full.communicate(timeout=PATIENCE_S)
    assert full.returncode == 0, err
    assert "cannot write it: File too large" in out
    assert "nothing that was stored is lost" in out
    assert "['context.jsonl', 'context.jsonl.lock']" in out
