"""Steps: functions from Turn to Turn, and the loop through them."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from time import thread_time

from kds.brain.turn import StepRecord, Turn
from kds.router.pattern import one_turn


@dataclass(frozen=True, slots=True)
class Step:
    """A named step. ``run`` returns a new Turn; what it wants to explain it leaves in its notes."""

    name: str
    run: Callable[[Turn], Turn]


def run_steps(steps: Iterable[Step], turn: Turn) -> Turn:
    """Carry ``turn`` through every step; each leaves one StepRecord."""
    turn = replace(turn, notes=())
    with one_turn():
        for step in steps:
            started = thread_time()
            turn = step.run(turn)
            record = StepRecord(step.name, turn.notes, (thread_time() - started) * 1000.0)
            turn = replace(turn, notes=(), records=(*turn.records, record))
    return turn
