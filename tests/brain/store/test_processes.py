"""Several processes on one memory, and processes that die: real ones, no sleeps."""

import signal
import subprocess
import sys
from pathlib import Path

import pytest

from kds.brain.memory.memory_store import SqliteStore

from ...effort import PATIENCE_S
from ..conftest import Start
from ..sound import sound

PROCESSES = 8
MESSAGES = 25
"""Each."""

WRITER = """
import sys
from pathlib import Path
from kds.brain.memory.memory_store import SqliteStore

path, name, count = Path(sys.argv[1]), sys.argv[2], int(sys.argv[3])
print("ready", flush=True)
sys.stdin.readline()
with SqliteStore(path) as store:
    for number in range(count):
        store.append("shared", "user", f"{name} says {number}", message_id=f"{name}-{number}")
"""

DOOMED = """
import sys
from itertools import count
from pathlib import Path
from kds.brain.memory.memory_store import SqliteStore

store = SqliteStore(Path(sys.argv[1]))
store.use_model("m")
session = store.create_session().id
for number in count():
    text = f"Message {number} changes `get_user_{number}` in the header. " + "word " * number
    message = store.append(session, "user", text, message_id=f"{sys.argv[2]}-{number}")
    print(message.id, flush=True)
    if number % 5 == 4:
        jobs = store.pending_embeddings(8)
        store.store_embeddings("m", {job.chunk_id: [1.0, number, 2.0] for job in jobs})
    if number % 7 == 6:
        store.add_summary(session, 1, message.seq, text, kind="periodic")
    if number % 12 == 11:
        doomed = store.create_session().id
        store.append(doomed, "assistant", text)
        store.delete_session(doomed)
"""


def test_eight_processes_write_without_a_lock_error(memory_path: Path, start: Start) -> None:
    with SqliteStore(memory_path) as store:
        store.create_session(session_id="shared")
    writers = [start(WRITER, memory_path, f"w{name}", MESSAGES) for name in range(PROCESSES)]
    for writer in writers:
        assert writer.stdout
        assert writer.stdout.readline() == "ready\n"
    for writer in writers:
        print("go", file=writer.stdin, flush=True)
    for writer in writers:
        _, errors = writer.communicate(timeout=120)
        assert (writer.returncode, errors) == (0, "")
    with SqliteStore(memory_path) as store:
        stored = store.messages("shared")
        assert [message.seq for message in stored] == [*range(1, PROCESSES * MESSAGES + 1)]
        assert {message.id for message in stored} == {
            f"w{name}-{number}" for name in range(PROCESSES) for number in range(MESSAGES)
        }
        assert sound(store)


def test_processes_that_open_a_new_memory_at_once_make_one(memory_path: Path, start: Start) -> None:
    script = (
        "import sys; from pathlib import Path; from kds.brain.memory.memory_store import *;"
        "store = SqliteStore(Path(sys.argv[1])); store.create_session();"
        "print(store.take_warnings())"
    )
    openers = [start(script, memory_path) for _ in range(4)]
    for opener in openers:
        assert opener.communicate(timeout=PATIENCE_S) == ("()\n", "")
    with SqliteStore(memory_path) as store:
        assert len(store.sessions()) == 4


@pytest.mark.parametrize("known", [0, 8])
def test_killed_writers_lose_nothing_that_was_acknowledged(memory_path: Path, known: int) -> None:
    """On a new memory, and again on what the first writers left."""
    told: set[str] = set()
    for number in range(1 + bool(known)):
        command = [sys.executable, "-c", DOOMED, str(memory_path)]
        writers = [
            subprocess.Popen([*command, f"{number}-{name}"], stdout=subprocess.PIPE, text=True)
            for name in "ab"
        ]
        for writer in writers:
            assert writer.stdout
            told |= {writer.stdout.readline().strip() for _ in range(2 + known)}
        for writer in writers:
            writer.kill()
        for writer in writers:
            rest, _ = writer.communicate(timeout=PATIENCE_S)
            assert writer.returncode == -signal.SIGKILL
            told |= set(rest[: rest.rfind("\n") + 1].split())  # the last line may be half a line
    with SqliteStore(memory_path) as store:
        stored = {one.id for session in store.sessions() for one in store.messages(session.id)}
        assert told <= stored
        assert (store.take_warnings(), store.check().problems) == ((), ())
