"""Putting the scores of several searches together into one.

Each search's scores are divided by its best, so that weights mean the same for every question.
A search that has nothing to say of a chunk does not count against it: its weight goes to the
others. So a chunk whose vector is not there yet is found by its words, and no score of one
search ever hides what another found.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from kds.brain.errors import KdsError


class WeightsError(KdsError):
    """The weights of the searches make no sense together."""


@dataclass(frozen=True, slots=True)
class Weights:
    """What each search counts: ``alpha`` dense, ``beta`` lexical, ``gamma`` identifiers.

    Only their proportions matter. Raises WeightsError when one is negative, or beta and gamma
    are both 0: without a model nothing would be left.
    """

    alpha: float
    beta: float
    gamma: float

    def __post_init__(self) -> None:
        values = (self.alpha, self.beta, self.gamma)
        if not all(0.0 <= value < float("inf") for value in values):
            raise WeightsError(
                f"weights are numbers from 0 on, not {values}", hint="such as 0.25, 0.6 and 0.15"
            )
        if self.beta + self.gamma <= 0.0:
            raise WeightsError(
                "without an embedding model these weights leave nothing",
                hint="let beta or gamma be more than 0",
            )


DEFAULT: Final = Weights(0.20, 0.65, 0.15)
"""Best on both halves of the LoCoMo dialogues with a MiniLM-class model; alpha from 0.15 to 0.35
differs by less than half a point."""

DENSE_NEIGHBOURS: Final[Mapping[int, float]] = {-1: 0.4, 1: 0.2}
"""What the vectors of the chunks before and after add. LoCoMo: +0.8 recall@10, +1 NDCG@5."""


@dataclass(frozen=True, slots=True)
class Fused:
    """The score of a chunk and what each search gave it, 0 to 1; None: nothing to say."""

    score: float
    dense: float | None
    lexical: float
    code: float


def fuse(
    lexical: Mapping[int, float],
    code: Mapping[int, float],
    dense: Mapping[int, float],
    *,
    weights: Weights,
    dense_floor: float | None = None,
) -> dict[int, Fused]:
    """Fuse the scores of every chunk that a search found.

    A chunk that is not in ``dense`` has ``dense_floor``; when that is None, nothing to say.
    """
    words, names = _shares(lexical, _best(lexical)), _shares(code, _best(code))
    smoothed = _smoothed(dense, dense_floor)
    best = _best(smoothed)
    near = _shares(smoothed, best)
    floor = max(dense_floor, 0.0) / best if dense_floor is not None and best > 0.0 else None
    found = {}
    for one in dict.fromkeys((*words, *names, *near)):
        parts = (near.get(one, floor), words.get(one, 0.0), names.get(one, 0.0))
        found[one] = Fused(_weighed(parts, weights, named=bool(names)), *parts)
    return found


def weigh(parts: Fused, weights: Weights, *, named: bool) -> float:
    """Return the mean of the parts under ``weights``; ``named``: the question has identifiers.

    >>> weigh(Fused(0.0, None, 1.0, 0.0), Weights(0.5, 0.3, 0.2), named=False)
    1.0
    """
    return _weighed((parts.dense, parts.lexical, parts.code), weights, named=named)


def _weighed(parts: tuple[float | None, float, float], weights: Weights, *, named: bool) -> float:
    dense, lexical, code = parts
    score, total = weights.beta * lexical, weights.beta
    if named:
        score, total = score + weights.gamma * code, total + weights.gamma
    if dense is not None:
        score, total = score + weights.alpha * dense, total + weights.alpha
    return score / total if total > 0.0 else 0.0


def _best(scores: Mapping[int, float]) -> float:
    return max(scores.values(), default=0.0)


def _shares(scores: Mapping[int, float], best: float) -> dict[int, float]:
    return {one: max(score, 0.0) / best for one, score in scores.items()} if best > 0.0 else {}


def _smoothed(dense: Mapping[int, float], floor: float | None) -> dict[int, float]:
    rest = max(floor or 0.0, 0.0)
    return {
        one: max(score, 0.0)
        + sum(weight * dense.get(one + step, rest) for step, weight in DENSE_NEIGHBOURS.items())
        for one, score in dense.items()
    }
