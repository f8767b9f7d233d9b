"""Measures how messages with several requests come apart into intents, in order."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from kds.api.measures import Figures, share
from kds.brain.turn import Turn
from kds.evaluation.examples import MultiExample

Route = Callable[[str], Turn]


@dataclass(frozen=True, slots=True)
class Split:
    """A message with its expected intents, and those it came out with."""

    example: MultiExample
    intents: tuple[str, ...]

    @property
    def exact(self) -> bool:
        """True when the same intents came out in the same order."""
        return self.intents == self.example.intents


@dataclass(frozen=True, slots=True)
class MultiScore(Figures):
    """How a set of messages came apart. Shares in [0, 1]; None: nothing counts.

    ``exact``: all intents in order. ``recall``: of the expected intents, those found.
    ``false_splits``: of the messages with one intent, those that came out with several.
    """

    exact: float | None
    recall: float | None
    false_splits: float | None


def split(example: MultiExample, route: Route) -> Split:
    """Route the message of ``example``, with nothing said before."""
    turn = route(example.text)
    return Split(example, (turn.intent, *turn.secondary_intents))


def score_splits(splits: Sequence[Split]) -> MultiScore:
    """Add up what `kds eval multi` reports."""
    found = [intent in one.intents for one in splits for intent in one.example.intents]
    single = [one for one in splits if len(one.example.intents) == 1]
    return MultiScore(
        exact=share(one.exact for one in splits),
        recall=share(found),
        false_splits=share(len(one.intents) > 1 for one in single),
    )
