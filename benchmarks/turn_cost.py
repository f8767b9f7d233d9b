"""What a turn costs: CPU milliseconds, in process and warm, everything included.

    python benchmarks/turn_cost.py [FILE ...] [--rounds N] [--json]

FILE is a dialogue file or a folder of them (default: tests/dialogues). Each dialogue runs in a
workspace of its own in a temporary folder, with the context file read and written as in real use.
Each round opens a new router, so that no conversation is remembered from the round before, and
warms it up with two messages that do not count.
"""

import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from time import process_time

from common import cpu_ms, options, ranks, show

import kds
from kds.api.rehearsal import MinuteClock

DIALOGUES = Path(__file__).resolve().parent.parent / "tests" / "dialogues"
ROUNDS = 5
WARM_UP = ("I want to add a warm-up lap", "Make it shorter")


@dataclass(frozen=True)
class Round:
    """CPU milliseconds: to open the router, of the very first turn, of every turn after."""

    opening_ms: float
    first_ms: float
    turns_ms: list[float]


def main() -> None:
    """Measure and print."""
    parser = options(__doc__, "--json", rounds=ROUNDS)
    parser.add_argument("files", nargs="*", type=Path, metavar="FILE")
    given = parser.parse_args()
    files = kds.find_dialogue_files(given.files or [DIALOGUES])
    dialogues = [dialogue for file in files for dialogue in kds.read_dialogues(file)]
    rounds = [_round(dialogues) for _ in range(given.rounds)]
    times = [cost for one in rounds for cost in one.turns_ms]
    show(
        {
            "turns": len(times),
            "opening_ms": round(rounds[0].opening_ms, 1),
            "first_turn_ms": round(rounds[0].first_ms, 1),
            **{f"ms_{name}": at for name, at in ranks(times, 50, 90, 99, digits=3).items()},
            "ms_max": round(max(times), 3),
        },
        as_json=given.json,
    )


def _round(dialogues: list["kds.Dialogue"]) -> Round:
    """Play every dialogue once, through a new router."""
    clock = MinuteClock()
    with tempfile.TemporaryDirectory() as folder:
        started = process_time()
        router = kds.Router.open(folder, clock=clock)
        opened = process_time()
        router.route(WARM_UP[0])
        first = process_time()
        router.route(WARM_UP[1])
        times = [cost for dialogue in dialogues for cost in _turns(router, clock, dialogue)]
    return Round((opened - started) * 1000.0, (first - opened) * 1000.0, times)


def _turns(router: "kds.Router", clock: MinuteClock, dialogue: "kds.Dialogue") -> Iterator[float]:
    """The CPU milliseconds of each turn of a dialogue."""
    router.context.clear()
    for turn in dialogue.turns:
        yield cpu_ms(lambda said=turn.user: router.route(said))
        clock.tick()


if __name__ == "__main__":
    main()
