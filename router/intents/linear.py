"""Softmax regression, calibration and their files, in NumPy: nothing that routes needs SciPy."""

import io
import zipfile
from collections import deque
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Matrix = NDArray[np.float32]
Ints = NDArray[np.int64]
Bools = NDArray[np.bool_]

COST: Final = 10.0
"""Strength of the examples beside the pull of the weights towards zero. From 5 to 20 within half a
point of each other on CLINC150 and Banking77 with five and ten examples an intent."""

TOLERANCE: Final = 2e-3
MEMORY: Final = 8
MOST_STEPS: Final = 100
RIDGE: Final = 2.0
"""Pull of a calibrator towards zero, in pseudo-messages: keeps the fit finite when every message
was right, and small sets from swinging."""


@dataclass(frozen=True, slots=True)
class Linear:
    """A row of ``weights`` for each feature, a column for each label."""

    weights: Matrix
    bias: Floats

    @classmethod
    def fit(
        cls,
        rows: Matrix,
        labels: Ints,
        counts: Floats,
        start: "Linear",
        *,
        anchored: bool = False,
        beside: Floats | float = 0.0,
    ) -> "Linear":
        """Fit a softmax regression, from ``start`` on; ``counts`` say how much each row counts.

        The weights are pulled towards zero, or when ``anchored`` towards those of ``start``, and
        the bias stays as it is. ``beside`` are scores that the labels of each row have already.
        """
        shape = start.weights.shape
        rest = start.weights.astype(np.float64) * anchored
        there = np.arange(len(rows))

        def objective(values: Floats) -> tuple[float, Floats]:
            weights, bias = values[: -shape[1]].reshape(shape), values[-shape[1] :]
            log_p = log_softmax(rows @ weights.astype(np.float32) + bias + beside)
            far = weights - rest
            loss = float((far**2).sum()) / 2 - COST * float(counts @ log_p[there, labels])
            error = np.exp(log_p)
            error[there, labels] -= 1.0
            error *= COST * counts[:, None]
            slope = (rows.T @ error.astype(np.float32)).astype(np.float64) + far
            return loss, np.append(slope.ravel(), error.sum(axis=0) * (not anchored))

        found = _minimise(objective, np.append(start.weights.ravel(), start.bias))
        return cls(found[: -shape[1]].reshape(shape).astype(np.float32), found[-shape[1] :])

    @classmethod
    def zeros(cls, width: int, labels: int) -> "Linear":
        """A model that knows nothing."""
        return cls(np.zeros((width, labels), dtype=np.float32), np.zeros(labels))

    def scores(self, rows: Matrix) -> Floats:
        """The score of each label for each row."""
        return np.asarray(rows @ self.weights + self.bias, dtype=np.float64)


def _minimise(objective: Callable[[Floats], tuple[float, Floats]], at: Floats) -> Floats:
    """L-BFGS with backtracking, for a convex objective with its gradient."""
    value, slope = objective(at)
    history: deque[tuple[Floats, Floats]] = deque(maxlen=MEMORY)
    for _ in range(MOST_STEPS):
        direction, shares = -slope, []
        for step, change in reversed(history):
            shares.append(float(step @ direction) / float(step @ change))
            direction -= shares[-1] * change
        if history:
            step, change = history[-1]
            direction *= float(step @ change) / float(change @ change)
        for (step, change), share in zip(history, reversed(shares), strict=True):
            direction += step * (share - float(change @ direction) / float(step @ change))
        size = 1.0 if history else 1.0 / max(1.0, float(np.linalg.norm(slope)))
        new_value, new_slope = objective(at + size * direction)
        while new_value > value + 1e-4 * size * float(slope @ direction) and size > 1e-6:
            size /= 2.0
            new_value, new_slope = objective(at + size * direction)
        step, change = size * direction, new_slope - slope
        if float(step @ change) > 1e-10:
            history.append((step, change))
        settled = value - new_value < TOLERANCE * abs(value)
        at, value, slope = at + step, new_value, new_slope
        if settled:
            break
    return at


def log_softmax(scores: Floats) -> Floats:
    """Normalise rows of scores to log probabilities."""
    return np.asarray(scores - log_sum(scores)[:, None])


def log_sum(scores: Floats) -> Floats:
    """The logarithm of the sum of the exponentials of each row."""
    top = scores.max(axis=1)
    return np.asarray(top + np.log(np.exp(scores - top[:, None]).sum(axis=1)))


def sigmoid(x: Floats) -> Floats:
    """The logistic function, without overflow."""
    return 1.0 / (1.0 + np.exp(-np.clip(x, -40.0, 40.0)))


@dataclass(frozen=True, slots=True)
class Calibrator:
    """Signs of certainty -> probability of being right, by logistic regression.

    A column of ``table`` for each sign: its mean, its spread and its weight. The last is the bias.
    """

    table: Floats

    @classmethod
    def fit(cls, signs: Floats, right: Bools, counts: Floats | float = 1.0) -> "Calibrator":
        """Fit on one row of signs for each message; ``counts`` say how much each counts."""
        mean = np.append(signs.mean(axis=0), 0.0)
        scale = np.append(np.maximum(signs.std(axis=0), 1e-6), 1.0)
        design = (np.hstack([signs, np.ones((len(signs), 1))]) - mean) / scale
        weights = np.zeros(design.shape[1])
        penalty = np.append(np.full(signs.shape[1], RIDGE), RIDGE / 10.0)
        for _ in range(40):  # Newton's method
            p = sigmoid(design @ weights)
            gradient = design.T @ (counts * (p - right)) + penalty * weights
            curvature = (design * (counts * p * (1.0 - p))[:, None]).T @ design + np.diag(penalty)
            step = np.linalg.solve(curvature, gradient)
            weights = weights - step
            if float(np.abs(step).max()) < 1e-8:
                break
        return cls(np.stack([mean, scale, weights]))

    def probabilities(self, signs: Floats) -> Floats:
        """How likely the verdict of each row of signs is right, in (0, 1)."""
        mean, scale, weights = self.table[:, :-1]
        scaled = np.clip((signs - mean) / scale, -6.0, 6.0)
        return sigmoid(scaled @ weights + self.table[2, -1])


def packed(arrays: Mapping[str, Any]) -> bytes:
    """Plain arrays as the bytes of an `.npz` file."""
    out = io.BytesIO()
    np.savez_compressed(out, **arrays)
    return out.getvalue()


def unpacked(content: bytes) -> dict[str, "np.ndarray[Any, Any]"]:
    """The inverse of `packed`. Raises ValueError for anything else."""
    try:
        with np.load(io.BytesIO(content), allow_pickle=False) as found:
            return {name: found[name] for name in found.files}
    except (zipfile.BadZipFile, ValueError, KeyError, OSError, EOFError, AttributeError) as error:
        raise ValueError(f"not a file of a model: {error}") from error
