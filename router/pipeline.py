"""Steps: functions from Turn to Turn, the loop through them, and the check of their list."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, fields, replace
from time import thread_time

from kds.brain.errors import PipelineError
from kds.brain.turn import StepRecord, Turn
from kds.router.pattern import one_turn

RunStep = Callable[[Turn], Turn]
"""Returns a new Turn. What it wants to explain it leaves in ``Turn.notes``."""


@dataclass(frozen=True, slots=True)
class Step:
    """A named step. ``reads`` and ``writes`` are names of Turn fields."""

    name: str
    reads: frozenset[str]
    writes: frozenset[str]
    run: RunStep


GIVEN = frozenset({"message", "at", "history", "rewrite"})
"""What a fresh Turn carries before the first step; the last two where the caller gave them."""

_FIELDS = frozenset(field.name for field in fields(Turn))


class Pipeline:
    """A checked, ordered list of steps over Turns that carry the fields ``given``.

    Raises PipelineError when a step reads what no earlier step writes, or names a field
    that a Turn does not have.
    """

    def __init__(self, steps: Iterable[Step], *, given: frozenset[str] = GIVEN) -> None:
        self.steps = tuple(steps)
        _check(self.steps, given)

    def run(self, turn: Turn) -> Turn:
        """Carry ``turn`` through every step; each leaves one StepRecord."""
        turn = replace(turn, notes=())
        with one_turn():
            for step in self.steps:
                turn = _run(step, turn)
        return turn


def _run(step: Step, turn: Turn) -> Turn:
    started = thread_time()
    after = step.run(turn)
    cpu_ms = (thread_time() - started) * 1000.0
    record = StepRecord(step.name, after.notes, cpu_ms)
    return replace(after, notes=(), records=(*after.records, record))


def _check(steps: tuple[Step, ...], given: frozenset[str]) -> None:
    written = set(given)
    for step in steps:
        if unknown := (step.reads | step.writes) - _FIELDS:
            raise PipelineError(
                f"step '{step.name}' names unknown Turn fields: {', '.join(sorted(unknown))}",
                hint=f"fields of a Turn: {', '.join(sorted(_FIELDS))}",
            )
        if missing := step.reads - written:
            raise PipelineError(
                f"step '{step.name}' reads {', '.join(sorted(missing))}, "
                "which no earlier step writes",
                hint="move the step behind the one that writes it",
            )
        written |= step.writes
