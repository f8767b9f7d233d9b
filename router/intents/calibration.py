"""Confidence that means something: of the messages given 0.8, about 80 % are right.

A small logistic model over a few signs of certainty, fitted on messages that the classifier
had not seen. Plain NumPy, so that routing needs nothing else.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

RIDGE: Final = 2.0
"""Strength of the pull towards zero, in pseudo-messages: keeps the fit finite when every message
was right, and small sets from swinging."""

STEPS: Final = 40
"""Newton steps at most. It settles in under ten on all sets tried."""

BINS: Final = 10
"""Bins of the calibration error, each with the same number of messages."""


@dataclass(frozen=True, slots=True)
class Calibrator:
    """Signs of certainty -> probability of being right."""

    mean: Floats
    scale: Floats
    weights: Floats
    bias: float

    @classmethod
    def fit(
        cls, signs: Floats, right: NDArray[np.bool_], weights: Floats | None = None
    ) -> "Calibrator":
        """Fit on one row of signs for each message, and whether its verdict was right.

        ``weights`` say how much each message counts; 1 when left out.
        """
        mean = signs.mean(axis=0)
        scale = np.maximum(signs.std(axis=0), 1e-6)
        design = np.hstack([(signs - mean) / scale, np.ones((len(signs), 1))])
        counts = np.ones(len(signs)) if weights is None else weights
        found = _newton(design, right.astype(np.float64), counts)
        return cls(mean, scale, found[:-1], float(found[-1]))

    def probability(self, signs: Sequence[float] | Floats) -> float:
        """How likely a verdict with these signs is right, in (0, 1)."""
        scaled = np.clip((np.asarray(signs, dtype=np.float64) - self.mean) / self.scale, -6.0, 6.0)
        return float(sigmoid(np.asarray(scaled @ self.weights + self.bias)))

    def probabilities(self, signs: Floats) -> Floats:
        """The same for many rows."""
        scaled = np.clip((signs - self.mean) / self.scale, -6.0, 6.0)
        return sigmoid(scaled @ self.weights + self.bias)


@dataclass(frozen=True, slots=True)
class ReliabilityBin:
    """Messages of about the same confidence: the mean of it, the share right, how many."""

    confidence: float
    accuracy: float
    count: int


def reliability(confidences: Sequence[float], right: Sequence[bool]) -> tuple[ReliabilityBin, ...]:
    """BINS bins of equal count, by rising confidence; none when there are no messages."""
    confidence = np.asarray(confidences, dtype=np.float64)
    hit = np.asarray(right, dtype=np.float64)
    order = np.argsort(confidence, kind="stable")
    bins = [part for part in np.array_split(order, BINS) if len(part)]
    # equal confidences belong into one bin, wherever the cut falls
    if len(np.unique(confidence)) <= BINS:
        bins = [np.flatnonzero(confidence == value) for value in np.unique(confidence)]
    return tuple(
        ReliabilityBin(float(confidence[part].mean()), float(hit[part].mean()), len(part))
        for part in bins
    )


def expected_calibration_error(confidences: Sequence[float], right: Sequence[bool]) -> float:
    """Mean distance of confidence and share of right answers, over bins of equal count.

    >>> round(expected_calibration_error([0.9] * 10, [True] * 9 + [False]), 3)
    0.0
    >>> round(expected_calibration_error([0.9] * 10, [True] * 5 + [False] * 5), 3)
    0.4
    """
    gaps = [
        abs(one.confidence - one.accuracy) * one.count for one in reliability(confidences, right)
    ]
    return sum(gaps) / len(confidences)


def _newton(design: Floats, target: Floats, counts: Floats) -> Floats:
    weights = np.zeros(design.shape[1])
    penalty = np.full(design.shape[1], RIDGE)
    penalty[-1] = RIDGE / 10.0
    for _ in range(STEPS):
        p = sigmoid(design @ weights)
        gradient = design.T @ (counts * (p - target)) + penalty * weights
        curvature = (design * (counts * p * (1.0 - p))[:, None]).T @ design + np.diag(penalty)
        step = np.linalg.solve(curvature, gradient)
        weights = weights - step
        if float(np.abs(step).max()) < 1e-8:
            break
    return weights


def sigmoid(x: Floats) -> Floats:
    """The logistic function, without overflow."""
    return 1.0 / (1.0 + np.exp(-np.clip(x, -40.0, 40.0)))
