"""Fitting: the linear model over examples, its mix with the patterns, and both calibrators.

Folds are cut by position and nothing is drawn: the same examples give the same numbers.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, fields
from typing import Final

import numpy as np
from numpy.typing import NDArray

from kds.router.intents.linear import (
    Calibrator,
    Floats,
    Ints,
    Linear,
    Matrix,
    log_softmax,
    log_sum,
)

PatternScores = Callable[[Ints], Floats]
"""Scores of the patterns for examples, given by number: a row each, a column for each label."""

FOLDS: Final = 5
SHARPNESS_GRID: Final = (0.5, 0.7, 0.85, 1.0, 1.2, 1.4, 1.7, 2.0, 2.5, 3.0, 4.0)
PATTERN_GRID: Final = (0.0, 0.5, 1.0, 1.5, 2.0, 2.5, 3.0, 3.5, 4.0, 5.0)

UNTRIED: Final = 3.0
"""Weight of patterns that match no example: about what those of the packaged prompts have."""

ENOUGH: Final = 2500
"""Unseen messages that suffice for mix, calibrator and scope: folds beyond only cost time."""

LEAST_INTENTS: Final = 4
"""With fewer, leaving one out leaves too little to learn what "none of these" looks like."""

TRUSTED_NONE: Final = 5.0
"""So many real messages of none of the intents count as much as all those of left-out intents."""

LEAST: Final = 1e-12


@dataclass(frozen=True, slots=True)
class Mix:
    """log p = log softmax(sharpness * text score) + pattern_weight * pattern score, normalised."""

    sharpness: float
    pattern_weight: float

    def log_p(self, scores: Floats, patterns: Floats) -> Floats:
        """Log probabilities of the labels."""
        return log_softmax(log_softmax(self.sharpness * scores) + self.pattern_weight * patterns)


@dataclass(frozen=True, slots=True)
class Readings:
    """What messages look like to the model: a row each, a column for each label.

    ``likeness`` is the cosine to the mean example of a label, ``words`` the logarithm of length.
    """

    scores: Floats
    likeness: Floats
    patterns: Floats
    words: Floats

    @classmethod
    def joined(cls, parts: list["Readings"]) -> "Readings":
        """The rows of all."""
        return cls(*(np.concatenate([getattr(one, f.name) for one in parts]) for f in fields(cls)))

    def certainty_signs(self, log_p: Floats, winner: Ints, none: int | None) -> Floats:
        """What tells right verdicts from wrong ones; a column each."""
        there = np.arange(len(winner))
        others = self.patterns.copy()
        others[there, winner] = 0.0
        return np.stack(
            [
                *_lead(log_p, winner),
                self.likeness.max(axis=1),
                self.likeness[there, winner],
                (self.scores.argmax(axis=1) == winner).astype(np.float64),
                self.patterns[there, winner],
                others.max(axis=1),
                self.words,
                _none_lead(self.scores, none),
            ],
            axis=1,
        )

    def scope_signs(self, sharpness: float, none: int | None) -> Floats:
        """What tells messages of the intents from others, by text alone; a column each."""
        winner = masked(self.scores, none).argmax(axis=1)
        there = np.arange(len(winner))
        real = masked(self.likeness, none)
        lead = self.scores[there, winner] - np.median(self.scores, axis=1)
        return np.stack(
            [
                *_lead(log_softmax(sharpness * self.scores), winner),
                np.clip(lead, -30.0, 30.0),
                _none_lead(self.scores, none),
                real.max(axis=1),
                real[there, winner],
                self.words,
                np.clip(log_sum(masked(self.scores, none)), -30.0, 30.0),
            ],
            axis=1,
        )


@dataclass(frozen=True, slots=True)
class Fit:
    """What training leaves; ``scope`` is None with too few intents to learn it from."""

    linear: Linear
    means: Matrix
    mix: Mix
    calibrator: Calibrator
    scope: Calibrator | None


def fit_linear(
    rows: Matrix, labels: Ints, start: Linear, *, beside: Floats | float = 0.0
) -> Linear:
    """Fit on all rows; a label with few examples is not drowned by one with many."""
    counts = np.bincount(labels, minlength=len(start.bias))
    share = np.sqrt(counts[counts > 0].mean() / np.maximum(counts, 1))
    return Linear.fit(rows, labels, share[labels], start=start, beside=beside)


def mean_examples(rows: Matrix, labels: Ints, width: int) -> Matrix:
    """The mean example of each label, of unit length; a column each, zero without examples."""
    sums = np.stack([rows[labels == label].sum(axis=0) for label in range(width)], axis=1)
    return np.asarray(sums / np.maximum(np.linalg.norm(sums, axis=0), 1e-9), dtype=np.float32)


def train(
    rows: Matrix,
    labels: Ints,
    words: Floats,
    pattern_scores: PatternScores | None,
    none: int | None,
) -> Fit:
    """Fit everything. ``none`` is the number of the none-of-these label."""
    width = int(labels.max()) + 1
    folds = list(_read_folds(rows, labels, words, pattern_scores, none))
    held = np.concatenate([one for one, _, _ in folds])
    strange = np.concatenate([one for _, one, _ in folds])
    familiar = Readings.joined([_rows(found, ~one) for _, one, found in folds])
    truth = labels[held[~strange]]
    mix = _choose_mix(familiar, truth)
    log_p = mix.log_p(familiar.scores, familiar.patterns)
    winner = masked(log_p, none).argmax(axis=1)
    calibrator = Calibrator.fit(familiar.certainty_signs(log_p, winner, none), winner == truth)
    scope = None
    if strange.any():
        kinds = np.where(strange, 1, np.where(labels[held] == none, 2, 0))
        signs = Readings.joined([found for *_, found in folds]).scope_signs(mix.sharpness, none)
        # in and out of scope count the same; see TRUSTED_NONE for the two sorts of the latter
        sizes = np.bincount(kinds, minlength=3)
        trust = sizes[2] / (sizes[2] + TRUSTED_NONE)
        shares = np.array([1.0, 1.0 - trust, trust]) / np.maximum(sizes, 1)
        scope = Calibrator.fit(signs, kinds == 0, shares[kinds] * len(kinds) / 2.0)
    linear = fit_linear(rows, labels, Linear.zeros(rows.shape[1], width))
    return Fit(linear, mean_examples(rows, labels, width), mix, calibrator, scope)


def _read_folds(
    rows: Matrix,
    labels: Ints,
    words: Floats,
    pattern_scores: PatternScores | None,
    none: int | None,
) -> Iterator[tuple[Ints, NDArray[np.bool_], Readings]]:
    """Examples as a model reads them that has not seen them, until there are ENOUGH.

    In each fold a tenth of the intents is left out altogether: their examples are strangers there.
    """
    width, done = int(labels.max()) + 1, 0
    # the n-th example of a label goes to fold n modulo FOLDS, so neighbours are kept apart
    place = np.array([np.count_nonzero(labels[:at] == one) for at, one in enumerate(labels)])
    real = np.setdiff1d(np.unique(labels), [] if none is None else [none])
    for fold in range(FOLDS):
        left_out = real[fold :: 2 * FOLDS] if len(real) >= LEAST_INTENTS else real[:0]
        strange = np.isin(labels, left_out)
        held = np.flatnonzero((place % FOLDS == fold) | strange)
        seen = np.flatnonzero((place % FOLDS != fold) & ~strange)
        if done >= ENOUGH or not len(held) or not len(seen):
            continue
        done += len(held)
        linear = fit_linear(rows[seen], labels[seen], Linear.zeros(rows.shape[1], width))
        linear.bias[np.setdiff1d(np.arange(width), labels[seen])] = -50.0
        means = mean_examples(rows[seen], labels[seen], width)
        scores = np.zeros((len(held), width)) if pattern_scores is None else pattern_scores(held)
        yield held, strange[held], read(linear, means, rows[held], scores, words[held])


def read(linear: Linear, means: Matrix, rows: Matrix, patterns: Floats, words: Floats) -> Readings:
    """What messages look like; ``words`` are their lengths."""
    lengths = np.maximum(np.linalg.norm(rows, axis=1), 1e-9)[:, None]
    likeness = np.asarray(rows @ means / lengths, dtype=np.float64)
    return Readings(linear.scores(rows), likeness, patterns, np.log1p(words))


def _rows(found: Readings, at: NDArray[np.bool_]) -> Readings:
    return Readings(found.scores[at], found.likeness[at], found.patterns[at], found.words[at])


def _choose_mix(readings: Readings, labels: Ints) -> Mix:
    """The mix that finds the unseen examples least surprising."""
    there = np.arange(len(labels))
    weights = PATTERN_GRID if readings.patterns.any() else (UNTRIED,)
    mixes = [Mix(sharpness, weight) for sharpness in SHARPNESS_GRID for weight in weights]

    def likelihood(mix: Mix) -> float:
        return float(mix.log_p(readings.scores, readings.patterns)[there, labels].mean())

    return max(mixes, key=likelihood)


def _lead(log_p: Floats, winner: Ints) -> tuple[Floats, Floats]:
    """Log odds of the winner, and its distance to the runner-up."""
    there = np.arange(len(winner))
    top = log_p[there, winner]
    others = log_p.copy()
    others[there, winner] = -np.inf
    odds = top - np.log(np.maximum(-np.expm1(top), LEAST))
    return np.clip(odds, -12.0, 12.0), np.clip(top - others.max(axis=1), -12.0, 12.0)


def masked(scores: Floats, none: int | None) -> Floats:
    """Scores of which that of the none-of-these label is never the best."""
    real = scores.copy()
    if none is not None:
        real[:, none] = -np.inf
    return real


def _none_lead(scores: Floats, none: int | None) -> Floats:
    if none is None:
        return np.zeros(len(scores))
    lead = scores[:, none] - masked(scores, none).max(axis=1)
    return np.asarray(np.clip(lead, -12.0, 12.0))
