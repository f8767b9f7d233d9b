"""Fitting: the linear model over examples, its mix with the patterns, and both calibrators.

Folds are cut by position and nothing is drawn: the same examples give the same numbers.
"""

from collections.abc import Iterator, Sequence
from dataclasses import astuple, dataclass, replace
from typing import Final

import numpy as np
from numpy.typing import NDArray

from kds.router.intents.examples import Pairs, fingerprints
from kds.router.intents.features import readable, vectors
from kds.router.intents.linear import (
    Bools,
    Calibrator,
    Floats,
    Ints,
    Linear,
    Matrix,
    log_softmax,
    log_sum,
)
from kds.router.intents.patterns import Prompts, find_patterns

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

ADDED: Final = 1.3
"""What an added intent with few examples gets beside its weights, times the logarithm of how much
fewer they are. With eight of the packaged intents left out in turn and added with seven examples,
77 % of their other examples find them; of unseen messages for other agents .6 % go astray."""

LEAST: Final = 1e-12


@dataclass(frozen=True, slots=True, repr=False)
class Learned:
    """All numbers of a fitted model; ``scope`` is None with too few intents to learn it from.

    log p = log softmax(sharpness * text score) + pattern_weight * pattern score, normalised.
    """

    labels: tuple[str, ...]
    taught: NDArray[np.uint64]
    """The fingerprints of the examples."""
    linear: Linear
    means: Matrix
    """The mean example of each label, of unit length; a column each."""
    sharpness: float
    pattern_weight: float
    calibrator: Calibrator
    scope: Calibrator | None


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
    def of(
        cls, linear: Linear, means: Matrix, rows: Matrix, patterns: Floats, words: Floats
    ) -> "Readings":
        """Those of messages of as many ``words``."""
        lengths = np.maximum(np.linalg.norm(rows, axis=1), 1e-9)[:, None]
        likeness = np.asarray(rows @ means / lengths, dtype=np.float64)
        return cls(linear.scores(rows), likeness, patterns, np.log1p(words))

    def log_p(self, sharpness: float, pattern_weight: float) -> Floats:
        """Log probabilities of the labels."""
        text = log_softmax(sharpness * self.scores)
        return log_softmax(text + pattern_weight * self.patterns)

    def certainty_signs(self, log_p: Floats, winner: Ints, none: int | None) -> Floats:
        """What tells right verdicts from wrong ones; a column each."""
        there = np.arange(len(winner))
        others = self.patterns.copy()
        others[there, winner] = 0.0
        return np.stack([
            *_lead(log_p, winner),
            self.likeness.max(axis=1),
            self.likeness[there, winner],
            self.scores.argmax(axis=1) == winner,
            self.patterns[there, winner],
            others.max(axis=1),
            self.words,
            self._none_lead(none),
        ], axis=1)  # fmt: skip

    def scope_signs(self, sharpness: float, none: int | None) -> Floats:
        """What tells messages of the intents from others, by text alone; a column each."""
        winner = masked(self.scores, none).argmax(axis=1)
        there = np.arange(len(winner))
        real = masked(self.likeness, none)
        lead = self.scores[there, winner] - np.median(self.scores, axis=1)
        return np.stack([
            *_lead(log_softmax(sharpness * self.scores), winner),
            np.clip(lead, -30.0, 30.0),
            self._none_lead(none),
            real.max(axis=1),
            real[there, winner],
            self.words,
            np.clip(log_sum(masked(self.scores, none)), -30.0, 30.0),
        ], axis=1)  # fmt: skip

    def _none_lead(self, none: int | None) -> Floats:
        if none is None:
            return np.zeros(len(self.scores))
        lead = self.scores[:, none] - masked(self.scores, none).max(axis=1)
        return np.asarray(np.clip(lead, -12.0, 12.0))


def fit_anew(examples: Pairs, labels: Sequence[str], agents: Prompts, none: str) -> Learned:
    """Fit everything; ``none`` is the none-of-these label."""
    texts = [readable(text) for text, _ in examples]
    rows, targets = vectors(texts), np.array([labels.index(label) for _, label in examples])
    at_none = labels.index(none) if none in labels else None
    folds = [
        (held, strange, Readings.of(linear, means, rows[held], *_by_pattern(agents, labels, read)))
        for held, strange, linear, means in _folds(rows, targets, at_none)
        for read in [[texts[row] for row in held]]
    ]
    held = np.concatenate([one for one, _, _ in folds])
    strange = np.concatenate([one for _, one, _ in folds])
    parts = zip(*(astuple(readings) for *_, readings in folds), strict=True)
    columns = [np.concatenate(part) for part in parts]
    familiar = Readings(*(column[~strange] for column in columns))
    truth = targets[held[~strange]]
    mix = _choose_mix(familiar, truth)
    log_p = familiar.log_p(*mix)
    winner = masked(log_p, at_none).argmax(axis=1)
    calibrator = Calibrator.fit(familiar.certainty_signs(log_p, winner, at_none), winner == truth)
    scope = None
    if strange.any():
        kinds = np.where(strange, 1, np.where(targets[held] == at_none, 2, 0))
        # in and out of scope count the same; see TRUSTED_NONE for the two sorts of the latter
        sizes = np.bincount(kinds, minlength=3)
        trust = sizes[2] / (sizes[2] + TRUSTED_NONE)
        shares = np.array([1.0, 1.0 - trust, trust]) / np.maximum(sizes, 1)
        signs = Readings(*columns).scope_signs(mix[0], at_none)
        scope = Calibrator.fit(signs, kinds == 0, shares[kinds] * len(kinds) / 2.0)
    linear = _fit(rows, targets, Linear.zeros(rows.shape[1], len(labels)))
    means = _means(rows, targets, len(labels))
    return Learned(tuple(labels), fingerprints(examples), linear, means, *mix, calibrator, scope)


def fit_on(
    base: Learned, base_rows: Matrix, examples: Pairs, labels: Sequence[str], agents: Prompts
) -> Learned:
    """Fit from the weights of ``base`` on, whose rows need not be made again.

    The weights of a new example make up for the patterns of other intents that match it: "roll it
    out" is a command to change something, until somebody has an agent for it.
    """
    at = {print_: row for row, print_ in enumerate(base.taught.tolist())}
    taught = fingerprints(examples)
    known = np.array([at.get(print_, -1) for print_ in taught.tolist()])
    new = np.flatnonzero(known < 0).tolist()
    rows, beside = base_rows[known], np.zeros((len(examples), len(labels)))
    if new:
        texts = [readable(examples[row][0]) for row in new]
        rows[new], (scores, _) = vectors(texts), _by_pattern(agents, labels, texts)
        beside[new] = scores * (base.pattern_weight / base.sharpness)
    start = Linear.zeros(rows.shape[1], len(labels))
    added = np.array([label not in base.labels for label in labels])
    source = [base.labels.index(label) for label in labels if label in base.labels]
    start.weights[:, ~added] = base.linear.weights[:, source]
    start.bias[~added] = base.linear.bias[source]
    targets = np.array([labels.index(label) for _, label in examples])
    linear = _fit(rows, targets, start, beside=beside)
    counts = np.bincount(targets, minlength=len(labels))
    linear.bias[added] += ADDED * np.log(counts.mean() / counts[added]).clip(min=0.0)
    means = _means(rows, targets, len(labels))
    return replace(base, labels=tuple(labels), taught=taught, linear=linear, means=means)


def _by_pattern(
    agents: Prompts, labels: Sequence[str], texts: Sequence[str]
) -> tuple[Floats, Floats]:
    """The scores of the patterns, a row a text, a column a label; and the words of the texts."""
    found = (find_patterns(agents, labels, [text]) for text in texts if agents)
    scores = np.array([[one.score for one in row] for row in found])
    words = np.array([float(len(text.split())) for text in texts])
    return scores if agents else np.zeros((len(texts), len(labels))), words


def _fit(rows: Matrix, labels: Ints, start: Linear, *, beside: Floats | float = 0.0) -> Linear:
    """Fit on all rows; a label with few examples is not drowned by one with many."""
    counts = np.bincount(labels, minlength=len(start.bias))
    share = np.sqrt(counts[counts > 0].mean() / np.maximum(counts, 1))
    return Linear.fit(rows, labels, share[labels], start, beside=beside)


def _means(rows: Matrix, labels: Ints, width: int) -> Matrix:
    sums = np.stack([rows[labels == label].sum(axis=0) for label in range(width)], axis=1)
    return np.asarray(sums / np.maximum(np.linalg.norm(sums, axis=0), 1e-9), dtype=np.float32)


def _folds(
    rows: Matrix, labels: Ints, none: int | None
) -> Iterator[tuple[Ints, Bools, Linear, Matrix]]:
    """Examples, which of them are strangers, and a model that has seen none; until ENOUGH.

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
        linear = _fit(rows[seen], labels[seen], Linear.zeros(rows.shape[1], width))
        linear.bias[np.setdiff1d(np.arange(width), labels[seen])] = -50.0
        yield held, strange[held], linear, _means(rows[seen], labels[seen], width)


def _choose_mix(readings: Readings, labels: Ints) -> tuple[float, float]:
    """The mix that finds the unseen examples least surprising."""
    there = np.arange(len(labels))
    weights = PATTERN_GRID if readings.patterns.any() else (UNTRIED,)
    mixes = [(sharpness, weight) for sharpness in SHARPNESS_GRID for weight in weights]
    return max(mixes, key=lambda mix: float(readings.log_p(*mix)[there, labels].mean()))


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
