"""Searching the weights of recall on half of the queries, and judging them on the other half.

The halves are whole conversations where a file has several (the first, third, ... are searched
on), so that no conversation is in both; of one conversation, the queries are divided by a hash
of their text, the same in every run.
"""

import hashlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from kds.api.measures import Figures
from kds.brain.passages.fusion import Weights
from kds.evaluation.retrieval_scoring import Ranking, Retrieved, ranking

ALPHAS: Final = tuple(step / 20 for step in range(15))
"""Weights of meaning that are tried: 0 to 0.7."""

GAMMAS: Final = (0.0, 0.05, 0.1, 0.15, 0.2, 0.3, 0.4)
"""Weights of identifiers that are tried. Words get what is left to 1."""

NOTICEABLE: Final = 0.0005
"""A gain in NDCG@5 that is worth leaving the weights as they are for: half of a rounding."""


@dataclass(frozen=True, slots=True)
class Tuning(Figures):
    """The best weights on one half, and what they do on the other; ``before``: the ones in use."""

    weights: Weights
    searched_on: Ranking
    other_half: Ranking
    before: Ranking
    """The weights in use, on the other half."""


def tune(retrieved: Sequence[Retrieved], *, present: Weights, dense: bool) -> Tuning:
    """Search the weights that are best for NDCG@5; ``dense`` False: alpha stays as it is.

    Of weights that do as well, those in use stay.
    """
    first, second = halves(retrieved)
    best, best_ndcg = present, (ranking(first, present).ndcg_at_5 or 0.0) + NOTICEABLE
    for weights in _grid(present, dense=dense):
        ndcg = ranking(first, weights).ndcg_at_5 or 0.0
        if ndcg > best_ndcg:
            best, best_ndcg = weights, ndcg
    return Tuning(best, ranking(first, best), ranking(second, best), ranking(second, present))


def halves(retrieved: Sequence[Retrieved]) -> tuple[list[Retrieved], list[Retrieved]]:
    """Divide the queries: by conversation where there are several, else by hash."""
    names = list(dict.fromkeys(one.query.conversation for one in retrieved))
    if len(names) > 1:
        odd = set(names[::2])
        first = [one for one in retrieved if one.query.conversation in odd]
    else:
        first = [one for one in retrieved if _is_odd(one.query.query)]
    chosen = set(map(id, first))
    return first, [one for one in retrieved if id(one) not in chosen]


def _grid(present: Weights, *, dense: bool) -> Iterator[Weights]:
    total = present.alpha + present.beta + present.gamma
    for alpha in ALPHAS if dense else (present.alpha / total,):
        for gamma in GAMMAS:
            if (beta := 1.0 - alpha - gamma) > 0.0:
                yield Weights(round(alpha, 4), round(beta, 4), gamma)


def _is_odd(text: str) -> bool:
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).digest()[0] % 2 == 1
