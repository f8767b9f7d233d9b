"""A step of the router: a plain function from Turn to Turn, with what it reads and writes."""

from collections.abc import Callable
from dataclasses import dataclass

from kds.brain.turn import Turn

RunStep = Callable[[Turn], Turn]
"""Returns a new Turn. What it wants to explain it leaves in ``Turn.notes``."""


@dataclass(frozen=True, slots=True)
class Step:
    """A named step. ``reads`` and ``writes`` are names of Turn fields."""

    name: str
    reads: frozenset[str]
    writes: frozenset[str]
    run: RunStep
