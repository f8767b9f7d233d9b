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


@dataclass(frozen=True, slots=True)
class Readings:
    """What messages look like to a text head, one row each.

    ``margins``, ``rule_scores`` and ``likeness`` (to the nearest example) have a column for
    each label.
    """

    margins: Floats
    rule_scores: Floats
    likeness: Floats
    unknown: Floats
    covered: Floats
    terms: Floats


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
    return np.asarray(scores - _log_sum(scores)[:, None])


def best_in_scope(log_p: Floats, none: int | None) -> Ints:
    """The likeliest label of each row, the none-of-these label left aside."""
    return np.asarray(_without(log_p, none).argmax(axis=1))


def certainty_signs(readings: Readings, log_p: Floats, winner: Ints, none: int | None) -> Floats:
    """What the calibrator looks at; a column each. The order is that of the shipped numbers."""
    rows = np.arange(len(winner))
    margins, rule_scores, likeness = readings.margins, readings.rule_scores, readings.likeness
    other_rules = rule_scores.copy()
    other_rules[rows, winner] = 0.0
    return np.stack(
        [
            *_lead(log_p, winner),
            likeness.max(axis=1),
            (likeness.argmax(axis=1) == winner).astype(np.float64),
            (margins.argmax(axis=1) == winner).astype(np.float64),
            rule_scores[rows, winner],
            other_rules.max(axis=1),
            readings.unknown,
            np.log1p(readings.terms),
            np.clip(margins[rows, winner], -3.0, 3.0),
            _none_margin(margins, none),
        ],
        axis=1,
    )


def scope_signs(readings: Readings, sharpness: float, none: int | None) -> Floats:
    """What tells messages of the intents from others, by text alone; in the order of the shipped
    numbers.
    """
    margins = readings.margins
    winner = best_in_scope(margins, none)
    rows = np.arange(len(winner))
    open_to = _without(readings.likeness, none)
    return np.stack(
        [
            *_lead(log_softmax(sharpness * margins), winner),
            np.clip(margins[rows, winner], -3.0, 3.0),
            _none_margin(margins, none),
            open_to.max(axis=1),
            open_to[rows, winner],
            readings.unknown,
            readings.covered,
            np.log1p(readings.terms),
            _log_sum(sharpness * _without(margins, none)),
        ],
        axis=1,
    )


def _lead(log_p: Floats, winner: Ints) -> tuple[Floats, Floats]:
    """Log odds of the winner, and its distance to the runner-up."""
    rows = np.arange(len(winner))
    top = log_p[rows, winner]
    others = log_p.copy()
    others[rows, winner] = -np.inf
    odds = top - np.log(np.maximum(-np.expm1(top), LEAST))
    return np.clip(odds, -12.0, 12.0), np.clip(top - others.max(axis=1), -12.0, 12.0)


def _without(scores: Floats, none: int | None) -> Floats:
    if none is None:
        return scores
    open_to = scores.copy()
    open_to[:, none] = -np.inf
    return open_to


def _none_margin(margins: Floats, none: int | None) -> Floats:
    return np.zeros(len(margins)) if none is None else np.clip(margins[:, none], -3.0, 3.0)


def _log_sum(scores: Floats) -> Floats:
    top = scores.max(axis=1)
    return np.asarray(top + np.log(np.exp(scores - top[:, None]).sum(axis=1)))
