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
    turn, before = replace(turn, notes=()), thread_time()
    with one_turn():
        for step in steps:
            turn = step.run(turn)
            now = thread_time()
            record = StepRecord(step.name, turn.notes, (now - before) * 1000.0)
            turn, before = replace(turn, notes=(), records=(*turn.records, record)), now
    return turn
