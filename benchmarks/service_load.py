"""What the resident service holds in memory: over a long life, and with several workspaces.

    python benchmarks/service_load.py memory      20,000 turns: resident memory
    python benchmarks/service_load.py workspaces  memory with one workspace and with six

Real `kds serve` processes in temporary workspaces, asked over their unix socket. `--json`
prints the figures alone; `--count N` shortens a run.
"""

import os
import random
import tempfile
from pathlib import Path
from typing import Any

from common import options, served, show

from kds.brain.workspace import Workspace
from kds.service.service_client import ServiceClient


def main() -> None:
    """Run one of the loads and print its figures."""
    parser = options(__doc__, "--json")
    parser.add_argument("load", choices=("memory", "workspaces"))
    parser.add_argument("--count", type=int, help="turns, or workspaces")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        (Path(folder) / "kds-brain").mkdir(mode=0o700)
        place = Workspace.find(Path(folder))
        load, count = {"memory": (memory, 20_000), "workspaces": (workspaces, 6)}[given.load]
        figures = load(place, given.count or count)
    show(figures, as_json=given.json)


def memory(place: Workspace, turns: int) -> dict[str, Any]:
    """Sample resident memory twenty times over many turns of ever new words."""
    dice, samples = random.Random(1), []
    with served(place) as (pid, _):
        client = ServiceClient(place)
        for index in range(turns + 1):
            if index % max(1, turns // 20) == 0:
                pages = int(Path(f"/proc/{pid}/statm").read_text().split()[1])
                samples.append(pages * os.sysconf("SC_PAGE_SIZE") / 2**20)
            word = "".join(dice.choices("abcdefghijklmnopqrstuvwxyz", k=9))
            message = f"I want to add a {word} button" if index % 2 == 0 else f"Make it {word}"
            client.route(message, conversation=f"c{index // 40}")
    settled = samples[2:]  # the first tenth fills bounded caches
    return {
        "turns": turns, "mb": [round(sample, 1) for sample in samples],
        "change_percent": round(100 * (max(settled) / settled[0] - 1), 1),
    }  # fmt: skip


def workspaces(place: Workspace, count: int) -> dict[str, Any]:
    """Open one workspace after the other, with twenty turns in each: memory of the process."""
    rows = []
    with served(place) as (pid, _):
        for number in range(count):
            root = place.root / f"project-{number}" if number else place.root
            (root / "kds-brain").mkdir(mode=0o700, parents=True, exist_ok=True)
            client = ServiceClient(Workspace.find(root))
            for turn in range(20):
                client.route(f"I want to add a button {turn}" if turn % 2 else "Make it purple")
            sizes = Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines()[1:]
            kb = {line.split(":")[0]: int(line.split()[1]) for line in sizes}
            rows.append({"rss_mb": kb["Rss"] // 1024, "pss_mb": kb["Pss"] // 1024})
    return {"workspaces": count, "first": rows[0], "last": rows[-1], "all": rows}


if __name__ == "__main__":
    main()
