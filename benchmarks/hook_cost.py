"""What the hook costs a prompt: CPU and wall time of whole `kds-hook` processes.

    python benchmarks/hook_cost.py [--runs N] [--json]

Five processes take turns, so that what else the machine does falls on all alike: `python -c pass`
(what no Python program can be below), `kds-hook` with a warm service, with none, for a prompt
that it leaves alone, and at the end of a turn. CPU is that of the process alone (wait4), the
service's is not in it.

Byte code is cached, as it is after `pip install`, whatever the environment says.
"""

import json
import os
import shutil
import sys
import tempfile
import time
from collections import defaultdict
from dataclasses import dataclass
from pathlib import Path

from common import options, ranks, served, show

from kds.api.measures import percentile
from kds.brain.workspace import Workspace

RUNS = 100
WARM_UPS = 3
HOOK = shutil.which("kds-hook", path=str(Path(sys.executable).parent)) or "kds-hook"


@dataclass(frozen=True)
class Case:
    """A command to measure, and the file that is its stdin."""

    name: str
    command: list[str]
    stdin: Path


@dataclass(frozen=True)
class Cost:
    """Milliseconds of one process, and the bytes that it printed."""

    cpu_ms: float
    wall_ms: float
    printed: int


def main() -> None:
    """Measure and print."""
    given = options(__doc__, "--json", runs=RUNS).parse_args()
    with tempfile.TemporaryDirectory(prefix="kds") as name:
        folder = Path(name)
        environ = _environment(folder)
        for place in ("served", "alone"):
            (folder / place / "kds-brain").mkdir(parents=True)
        with served(Workspace.find(folder / "served", environ={}), environ=environ):
            costs = _measure(folder, environ, given.runs)
    rows = {name: _summary(costs[name], costs["python -c pass"]) for name in costs}
    show({"runs": given.runs} | rows, as_json=given.json)


def _measure(folder: Path, environ: dict[str, str], runs: int) -> dict[str, list[Cost]]:
    costs: dict[str, list[Cost]] = defaultdict(list)
    for turn in range(-WARM_UPS, runs):
        # Each in a conversation of its own, which has to be begun; a service that loads takes time.
        begun = _input(folder / "served", "I want to add a FAB button", turn)
        _run(Case("begun", [HOOK], begun), environ | {"KDS_HOOK_TIMEOUT_MS": "20000"})
        for case in _cases(folder, turn):
            cost = _run(case, environ)
            if turn >= 0:
                costs[case.name].append(cost)
    if any(not cost.printed for cost in costs["warm service"]):
        raise SystemExit("the service did not answer every prompt: see hook.log")
    return costs


def _run(case: Case, environ: dict[str, str]) -> Cost:
    with tempfile.TemporaryFile() as printed, case.stdin.open("rb") as stdin:
        files = [
            (os.POSIX_SPAWN_DUP2, stdin.fileno(), 0),
            (os.POSIX_SPAWN_DUP2, printed.fileno(), 1),
        ]
        began = time.perf_counter()
        pid = os.posix_spawn(case.command[0], case.command, environ, file_actions=files)
        _, status, used = os.wait4(pid, 0)
        wall_ms = (time.perf_counter() - began) * 1000
        if status:
            raise SystemExit(f"{case.name}: exit status {status}")
        cpu_ms = (used.ru_utime + used.ru_stime) * 1000
        return Cost(cpu_ms, wall_ms, os.fstat(printed.fileno()).st_size)


def _cases(folder: Path, number: int) -> list[Case]:
    return [
        Case("python -c pass", [sys.executable, "-c", "pass"], Path(os.devnull)),
        Case("warm service", [HOOK], _input(folder / "served", "Make it purple", number)),
        Case("no service", [HOOK], _input(folder / "alone", "Make it purple", number)),
        Case("left alone", [HOOK], _input(folder / "served", "/compact", number)),
        Case("end of a turn", [HOOK], _input(folder / "served", "", number, event="Stop")),
    ]


def _input(workspace: Path, prompt: str, number: int, *, event: str = "UserPromptSubmit") -> Path:
    path = workspace / f"{len(prompt)}.json"
    path.write_text(
        json.dumps(
            {
                "session_id": f"hook-cost-{number}",
                "transcript_path": str(workspace / "transcript.jsonl"),
                "cwd": str(workspace),
                "hook_event_name": event,
                "prompt": prompt,
            }
        )
    )
    return path


def _environment(folder: Path) -> dict[str, str]:
    dropped = ("PYTHONDONTWRITEBYTECODE", "KDS_HOME", "KDS_HOOK_TIMEOUT_MS")
    environ = {name: value for name, value in os.environ.items() if name not in dropped}
    own = {"PYTHONPYCACHEPREFIX": str(folder / "bytecode"), "KDS_SERVICE_AUTO": "off"}
    return environ | own


def _summary(costs: list[Cost], base: list[Cost]) -> dict[str, float]:
    cpu = [cost.cpu_ms for cost in costs]
    base_ms = percentile([cost.cpu_ms for cost in base], 50)
    both = {"cpu": cpu, "wall": [cost.wall_ms for cost in costs]}
    shown = {
        f"{kind}_ms_{rank}": at
        for kind, values in both.items()
        for rank, at in ranks(values, 50, 95, digits=1).items()
    }
    return shown | {"cpu_times_python": round(percentile(cpu, 50) / base_ms, 2)}


if __name__ == "__main__":
    main()
