"""Fitting: the text head, its mix with the rules, the calibrator, the model of scope.

Folds are cut by position and every solver is seeded: the same examples give the same numbers.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from kds.router.intents.calibration import Calibrator, expected_calibration_error
from kds.router.intents.certainty import Mix, Readings, best_in_scope, certainty_signs, scope_signs
from kds.router.intents.features import FeatureSpace, Vector
from kds.router.intents.text_head import ExampleMatrix

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
RuleScores = Callable[[Ints], Floats]
"""Rule scores of examples, given by their numbers: a row for each, a column for each label."""

FOLDS: Final = 5
SHARPNESS_GRID: Final = (1.0, 1.5, 2.0, 2.5, 3.0, 4.0, 5.0, 6.0, 8.0, 10.0, 13.0, 16.0)
RULE_WEIGHT_GRID: Final = (0.0, 0.5, 1.0, 1.5, 2.0, 2.5, 3.0, 3.5, 4.0, 5.0)

ENOUGH: Final = 1000
"""Unseen messages that suffice for mix and calibrator: folds beyond only cost time (error of the
confidence on CLINC150 with 10 examples an intent: 0.017, with 1500 of them 0.015)."""

ENOUGH_FOR_SCOPE: Final = 2500
"""The same for the scope, which needs more turns: with 1000 it finds 65 % there, with 1500 70 %."""

MOST_AT_ONCE: Final = 3000
"""Messages read in one turn at most: comparing them with all examples takes its time."""

NEAR: Final = 0.5
"""Share of the examples, on either side, that two sets must have in common for one model to be
fitted on top of the other: then most of what the calibrator saw still holds."""

LEAST_INTENTS: Final = 4
"""With fewer, leaving one out leaves too little to learn what "none of these" looks like."""

TRUSTED_NONE: Final = 5.0
"""So many real messages of none of the intents count as much as all those of left-out intents.
Area under the curve on CLINC150, with 10 and 100 of them: 0.938 and 0.966 at 30 messages, 0.941
and 0.972 at 10, 0.941 and 0.974 at 5."""


@dataclass(frozen=True, slots=True)
class FitReport:
    """How the fit does on examples it has not seen; shares between 0 and 1."""

    text_accuracy: float
    accuracy: float
    calibration_error: float


@dataclass(frozen=True, slots=True)
class Fit:
    """What training leaves. ``weights`` has a row for each term, a column for each label."""

    weights: Floats
    bias: Floats
    mix: Mix
    calibrator: Calibrator
    scope: Calibrator | None
    report: FitReport


def train(
    vectors: Sequence[Vector],
    labels: Ints,
    rule_scores: RuleScores | None,
    *,
    space: FeatureSpace,
    none: int | None,
) -> Fit:
    """Fit everything on ``vectors``. ``none`` is the number of the none-of-these label.

    Every label from 0 to the last has at least one example.
    """
    matrix = ExampleMatrix.build(vectors, labels, space)
    fold_of = _folds(labels)
    rows, readings = _read_folds(matrix, fold_of, rule_scores)
    mix = _choose_mix(readings, labels[rows])
    log_p = mix.log_p(readings.margins, readings.rule_scores)
    calibrator, error = _calibrate(readings, log_p, labels[rows], fold_of[rows], none)
    report = FitReport(
        text_accuracy=float((readings.margins.argmax(axis=1) == labels[rows]).mean()),
        accuracy=float((log_p.argmax(axis=1) == labels[rows]).mean()),
        calibration_error=error,
    )
    scope = _fit_scope(matrix, fold_of, mix.sharpness, none)
    weights, bias = matrix.fit(np.arange(len(labels)))
    return Fit(weights, bias, mix, calibrator, scope, report)


def is_near(base: NDArray[np.uint64], taught: NDArray[np.uint64]) -> bool:
    """Whether two sets of examples, as their fingerprints, are alike enough: see NEAR."""
    shared = len(np.intersect1d(base, taught, assume_unique=True))
    return shared >= NEAR * max(len(base), len(taught))


def _folds(labels: Ints) -> Ints:
    """The n-th example of a label goes to fold n modulo FOLDS, so neighbours are kept apart."""
    folds = np.zeros(len(labels), dtype=np.int64)
    for label in np.unique(labels):
        rows = np.flatnonzero(labels == label)
        folds[rows] = np.arange(len(rows)) % FOLDS
    return folds


def _read_folds(
    matrix: ExampleMatrix, fold_of: Ints, rule_scores: RuleScores | None
) -> tuple[Ints, Readings]:
    """Examples, each read by a head that has not seen it; as many folds as give ENOUGH."""
    rows: list[Ints] = []
    read: list[Readings] = []
    for fold in range(FOLDS):
        seen, held = np.flatnonzero(fold_of != fold), np.flatnonzero(fold_of == fold)
        if not len(held) or not len(seen) or sum(map(len, rows)) >= ENOUGH:
            continue
        held = _thin(held)
        rows.append(held)
        scores = None if rule_scores is None else rule_scores(held)
        read.append(matrix.read(seen, held, scores))
    return np.concatenate(rows), _join(read)


def _thin(rows: Ints) -> Ints:
    return rows[:: -(-len(rows) // MOST_AT_ONCE)]


def _join(read: Sequence[Readings]) -> Readings:
    return Readings(
        margins=np.concatenate([one.margins for one in read]),
        rule_scores=np.concatenate([one.rule_scores for one in read]),
        likeness=np.concatenate([one.likeness for one in read]),
        unknown=np.concatenate([one.unknown for one in read]),
        covered=np.concatenate([one.covered for one in read]),
        terms=np.concatenate([one.terms for one in read]),
    )


def _choose_mix(readings: Readings, labels: Ints) -> Mix:
    """The mix that finds the unseen examples least surprising."""
    rows = np.arange(len(labels))
    rule_weights = RULE_WEIGHT_GRID if readings.rule_scores.any() else (0.0,)
    best = (np.inf, Mix(1.0, 0.0))
    for sharpness in SHARPNESS_GRID:
        for rule_weight in rule_weights:
            mix = Mix(sharpness, rule_weight)
            log_p = mix.log_p(readings.margins, readings.rule_scores)
            loss = -float(log_p[rows, labels].mean())
            if loss < best[0]:
                best = (loss, mix)
    return best[1]


def _calibrate(
    readings: Readings, log_p: Floats, labels: Ints, fold_of: Ints, none: int | None
) -> tuple[Calibrator, float]:
    """The calibrator, and its error on messages left out of its own fit too."""
    winner = best_in_scope(log_p, none)
    signs = certainty_signs(readings, log_p, winner, none)
    right = winner == labels
    parts = fold_of if len(np.unique(fold_of)) > 1 else np.arange(len(labels)) % FOLDS
    confidence = np.zeros(len(labels))
    for part in np.unique(parts):
        held = parts == part
        if not held.all():
            confidence[held] = Calibrator.fit(signs[~held], right[~held]).probabilities(signs[held])
    error = expected_calibration_error(confidence.tolist(), right.tolist())
    return Calibrator.fit(signs, right), error


def _fit_scope(
    matrix: ExampleMatrix, fold_of: Ints, sharpness: float, none: int | None
) -> Calibrator | None:
    """Learn what a message of no intent looks like: from intents left out in turn, and from
    the examples of none of these, where there are some. None: there are too few intents.
    """
    labels = matrix.labels
    real = np.setdiff1d(np.unique(labels), [] if none is None else [none])
    if len(real) < LEAST_INTENTS:
        return None
    signs: list[Floats] = []
    kinds: list[Ints] = []  # 0 in scope, 1 left out, 2 none of these
    for turn in range(FOLDS):
        left_out = np.isin(labels, real[turn::FOLDS])
        held = _thin(np.flatnonzero(left_out | (fold_of == turn)))
        seen = np.flatnonzero(~left_out & (fold_of != turn))
        if not left_out.any() or sum(map(len, kinds)) >= ENOUGH_FOR_SCOPE:
            continue
        signs.append(scope_signs(matrix.read(seen, held, None), sharpness, none))
        unfit = np.zeros(len(held), dtype=bool) if none is None else labels[held] == none
        kinds.append(np.where(left_out[held], 1, np.where(unfit, 2, 0)))
    kind = np.concatenate(kinds)
    return Calibrator.fit(np.concatenate(signs), kind == 0, _scope_weights(kind))


def _scope_weights(kind: Ints) -> Floats:
    """In and out of scope count the same; see TRUSTED_NONE for the two sorts of the latter."""
    counts = np.bincount(kind, minlength=3).astype(np.float64)
    trust = counts[2] / (counts[2] + TRUSTED_NONE)
    shares = np.array([1.0, 1.0 - trust, trust])
    return np.asarray((shares / np.maximum(counts, 1.0))[kind] * len(kind) / 2.0)
