"""Text scores and rule scores in one: the mix, the winner, and the signs of certainty.

Used when a model is fitted (on many messages) and when it routes (on one), so that both see
the same numbers. All functions take one row for each message.
"""

from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

LEAST: Final = 1e-12
"""Probabilities are kept above this before their logarithm is taken."""

SIGNS: Final = (
    "log odds of the winner",
    "distance to the runner-up",
    "likeness to the nearest example",
    "nearest example agrees",
    "text alone agrees",
    "rule score of the winner",
    "best rule score of another",
    "share of unknown words",
    "log of the number of terms",
    "text margin of the winner",
    "text margin of none of these",
)


@dataclass(frozen=True, slots=True)
class Mix:
    """log p = log softmax(sharpness * text margin) + rule_weight * rule score, normalised."""

    sharpness: float
    rule_weight: float

    def log_p(self, margins: Floats, rule_scores: Floats) -> Floats:
        """Log probabilities of the labels."""
        text = log_softmax(self.sharpness * margins)
        return log_softmax(text + self.rule_weight * rule_scores)


def log_softmax(scores: Floats) -> Floats:
    """Normalise rows of scores to log probabilities."""
    shifted = scores - scores.max(axis=1, keepdims=True)
    return np.asarray(shifted - np.log(np.exp(shifted).sum(axis=1, keepdims=True)))


def best_in_scope(log_p: Floats, none: int | None) -> Ints:
    """The likeliest label of each row, the none-of-these label left aside."""
    if none is None:
        return np.asarray(log_p.argmax(axis=1))
    open_to = log_p.copy()
    open_to[:, none] = -np.inf
    return np.asarray(open_to.argmax(axis=1))


def certainty_signs(
    log_p: Floats,
    winner: Ints,
    margins: Floats,
    rule_scores: Floats,
    *,
    likeness: Floats,
    nearest_label: Ints,
    unknown: Floats,
    terms: Floats,
    none: int | None,
) -> Floats:
    """What the calibrator looks at, in the order of SIGNS."""
    rows = np.arange(len(winner))
    top = log_p[rows, winner]
    others = log_p.copy()
    others[rows, winner] = -np.inf
    other_rules = rule_scores.copy()
    other_rules[rows, winner] = 0.0
    odds = top - np.log(np.maximum(-np.expm1(top), LEAST))
    return np.stack(
        [
            np.clip(odds, -12.0, 12.0),
            np.clip(top - others.max(axis=1), -12.0, 12.0),
            likeness,
            (nearest_label == winner).astype(np.float64),
            (margins.argmax(axis=1) == winner).astype(np.float64),
            rule_scores[rows, winner],
            other_rules.max(axis=1),
            unknown,
            np.log1p(terms),
            np.clip(margins[rows, winner], -3.0, 3.0),
            np.clip(margins[:, none], -3.0, 3.0) if none is not None else np.zeros(len(winner)),
        ],
        axis=1,
    )
