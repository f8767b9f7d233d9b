"""Processes that are killed while they import: nothing is lost, nothing is there twice.

A few rounds a run; `KDS_KILL_ROUNDS=200 pytest -n0 FILE` tries more.
"""

import json
import os
import random
import signal
import subprocess
import time
from collections.abc import Callable
from contextlib import closing, suppress
from pathlib import Path
from typing import Final

import pytest

from kds.transcripts.catalogue import AssistantMemory
from kds.transcripts.importing import import_sessions, readers

from ...effort import PATIENCE_S
from ..conftest import Run
from .conftest import HOOK, Write, claude_line, contents

ROUNDS: Final = int(os.environ.get("KDS_KILL_ROUNDS", "4"))
BATCH: Final = min(ROUNDS, 20)
"""Rounds of one test, one after the other in one memory."""
BATCHES: Final = range(-(-ROUNDS // BATCH))

WITHIN_S: Final = 0.15
"""Within so much the kill comes: an import of some messages takes 20 to 100 ms."""

IMPORT: Final = """
import os, sys
from pathlib import Path
from kds.transcripts import importing
from kds.transcripts.catalogue import AssistantMemory
importing.AT_ONCE = 2
home, memory = Path(sys.argv[1]), AssistantMemory(Path(sys.argv[2]))
print(os.getpid(), flush=True)
importing.import_sessions(memory, importing.readers(home, {}), only=None)
"""


def killed(command: list[str], after_s: float) -> None:
    """Run a process that first prints its number, and kill it a moment later."""
    with subprocess.Popen(command, stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        number = int(process.stdout.readline())
        time.sleep(after_s)
        with suppress(ProcessLookupError):  # it was done before
            os.kill(number, signal.SIGKILL)


def appended(path: Path, said: list[str], count: int) -> None:
    """Write more messages to a session of Claude Code; ``said`` has all of them."""
    session, folder = path.stem, json.loads(path.read_text().split("\n", 1)[0])["cwd"]
    with path.open("a") as file:
        for number in range(len(said), len(said) + count):
            said.append(f"{session} says {number} things")
            file.write(json.dumps(claude_line(session, number, said[-1], folder)) + "\n")


@pytest.mark.parametrize("batch", BATCHES)
def test_an_import_that_is_killed_loses_and_doubles_nothing(
    memory: AssistantMemory, home: Path, claude: Write, launchers: Path, batch: int
) -> None:
    chance = random.Random(batch)
    said = {name: [f"{name} says 0 things"] for name in ("a", "b", "c")}
    paths = {name: claude(name, *texts) for name, texts in said.items()}
    command = [str(launchers / "python-block"), IMPORT, str(home), str(memory.folder)]
    for _ in range(BATCH):
        for name, path in paths.items():
            appended(path, said[name], chance.randrange(1, 7))
        memory.close()
        killed(command, chance.uniform(0, WITHIN_S))
    import_sessions(memory, readers(home, {}), only=None)
    kept = contents(memory)
    for texts in said.values():
        assert [one for one in kept if one in texts] == texts
    with memory.stores(memory.projects()) as opened:
        assert [store.check().problems for _, store in opened] == [()]


@pytest.mark.parametrize("batch", BATCHES)
def test_a_hook_and_a_service_that_are_killed_lose_and_double_nothing(
    service: Callable[[], int], shop: Path, claude: Write, kds_call: Run, batch: int
) -> None:
    chance = random.Random(batch)
    said = ["growing says 0 things"]
    path = claude("growing", *said, folder=str(shop))
    kds_call("memory", "import", "--from", "claude")
    for round_ in range(BATCH):
        number = service()
        appended(path, said, chance.randrange(1, 7))
        hook = told("Stop", path)
        if round_ % 3:
            hook.wait()
        time.sleep(chance.uniform(0, WITHIN_S))
        hook.kill()
        hook.wait()
        os.kill(number, signal.SIGKILL)
    service()
    told("SessionEnd", path).wait()
    ends = time.monotonic() + PATIENCE_S
    while (kept := [one for one in contents(AssistantMemory()) if one in said]) != said:
        assert time.monotonic() < ends, (len(kept), len(said))
        time.sleep(0.05)
    with closing(AssistantMemory()) as memory, memory.stores(memory.projects()) as opened:
        assert [store.check().problems for _, store in opened] == [()]


def told(event: str, path: Path) -> "subprocess.Popen[bytes]":
    """Start the hook of a client that tells of an event in its session."""
    given = {"session_id": path.stem, "transcript_path": str(path), "cwd": str(Path.cwd()),
             "hook_event_name": event}  # fmt: skip
    environ = os.environ | {"KDS_HOOK_TIMEOUT_MS": "20000"}
    process = subprocess.Popen(
        [HOOK], stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, env=environ
    )  # fmt: skip
    assert process.stdin is not None
    with process.stdin as stdin, suppress(BrokenPipeError):
        stdin.write(json.dumps(given).encode())
    return process
