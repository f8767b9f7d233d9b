"""Fitting: the text head, its mix with the rules, and the calibrator. Needs scikit-learn.

The only module that imports scikit-learn, and only when a fit runs. Folds are cut by position
and every solver is seeded: the same examples give the same numbers.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

import numpy as np
from numpy.typing import NDArray

from kds.router.calibration import Calibrator, expected_calibration_error
from kds.router.certainty import Mix, best_in_scope, certainty_signs
from kds.router.intent_features import Vector

if TYPE_CHECKING:
    from scipy.sparse import csr_matrix

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

FOLDS: Final = 5
MARGIN_COST: Final = 2.0
"""C of the linear SVM. 1 to 3 are within noise of each other on CLINC150 with 10 examples an
intent (82.4 to 83.0 %) and on our own; logistic regression is no better and 15 times slower."""

TOLERANCE: Final = 1e-2
"""Same accuracy as scikit-learn's 1e-4 (84.6 % over text alone), in two thirds of the time."""

SHARPNESS_GRID: Final = (1.0, 1.5, 2.0, 2.5, 3.0, 4.0, 5.0, 6.0, 8.0, 10.0, 13.0, 16.0)
RULE_WEIGHT_GRID: Final = (0.0, 0.5, 1.0, 1.5, 2.0, 2.5, 3.0, 3.5, 4.0, 5.0)

CALIBRATION_MESSAGES: Final = 3000
"""Messages that the calibrator is fitted on at most: more only costs time."""


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
    report: FitReport


def train(
    vectors: Sequence[Vector],
    labels: Ints,
    rule_scores: Floats,
    *,
    size: int,
    none: int | None,
) -> Fit:
    """Fit everything on ``vectors`` of ``size`` terms.

    ``rule_scores`` has a row for each example and a column for each label; ``none`` is the
    column of the none-of-these label. Every label has at least one example.
    """
    matrix = _matrix(vectors, size)
    width = rule_scores.shape[1]
    fold_of = _folds(labels)
    margins = np.zeros((len(labels), width))
    for fold in range(FOLDS):
        seen, held = fold_of != fold, fold_of == fold
        if held.any():
            weights, bias = _fit_svm(matrix[seen], labels[seen], width)
            margins[held] = matrix[held] @ weights + bias
    mix = _choose_mix(margins, rule_scores, labels)
    log_p = mix.log_p(margins, rule_scores)
    calibrator, error = _calibrate(
        matrix, vectors, labels, fold_of, margins, rule_scores, log_p, none
    )
    report = FitReport(
        text_accuracy=float((margins.argmax(axis=1) == labels).mean()),
        accuracy=float((log_p.argmax(axis=1) == labels).mean()),
        calibration_error=error,
    )
    return Fit(*_fit_svm(matrix, labels, width), mix, calibrator, report)


def _matrix(vectors: Sequence[Vector], size: int) -> "csr_matrix[Any]":
    from scipy.sparse import csr_matrix

    starts = np.cumsum([0, *(len(vector.ids) for vector in vectors)])
    ids = np.concatenate([vector.ids for vector in vectors])
    values = np.concatenate([vector.values for vector in vectors])
    matrix = csr_matrix((values, ids, starts), shape=(len(vectors), size))
    matrix.sort_indices()
    return matrix


def _folds(labels: Ints) -> Ints:
    """The n-th example of a label goes to fold n modulo FOLDS, so neighbours are kept apart."""
    folds = np.zeros(len(labels), dtype=np.int64)
    for label in np.unique(labels):
        rows = np.flatnonzero(labels == label)
        folds[rows] = np.arange(len(rows)) % FOLDS
    return folds


def _fit_svm(matrix: "csr_matrix[Any]", labels: Ints, width: int) -> tuple[Floats, Floats]:
    """One-against-rest weights; labels without an example in this fold get none."""
    from sklearn.svm import LinearSVC

    present = np.unique(labels)
    weights = np.zeros((matrix.shape[1], width))
    bias = np.full(width, -1.0)
    if len(present) < 2:
        bias[present] = 1.0
        return weights, bias
    machine = LinearSVC(C=MARGIN_COST, tol=TOLERANCE, class_weight="balanced", random_state=0)
    machine.fit(matrix, labels)
    if len(present) == 2:
        weights[:, present] = np.stack([-machine.coef_[0], machine.coef_[0]], axis=1)
        bias[present] = [-machine.intercept_[0], machine.intercept_[0]]
    else:
        weights[:, present] = machine.coef_.T
        bias[present] = machine.intercept_
    return weights, bias


def _choose_mix(margins: Floats, rule_scores: Floats, labels: Ints) -> Mix:
    """The mix that finds the unseen examples least surprising."""
    rows = np.arange(len(labels))
    rule_weights = RULE_WEIGHT_GRID if rule_scores.any() else (0.0,)
    best = (np.inf, Mix(1.0, 0.0))
    for sharpness in SHARPNESS_GRID:
        for rule_weight in rule_weights:
            mix = Mix(sharpness, rule_weight)
            loss = -float(mix.log_p(margins, rule_scores)[rows, labels].mean())
            if loss < best[0]:
                best = (loss, mix)
    return best[1]


def _calibrate(
    matrix: "csr_matrix[Any]",
    vectors: Sequence[Vector],
    labels: Ints,
    fold_of: Ints,
    margins: Floats,
    rule_scores: Floats,
    log_p: Floats,
    none: int | None,
) -> tuple[Calibrator, float]:
    """The calibrator, and its error on messages left out of its own fit too."""
    stride = -(-len(labels) // CALIBRATION_MESSAGES)
    rows = np.arange(0, len(labels), stride)
    likeness, nearest_label = _nearest(matrix, labels, fold_of, rows)
    winner = best_in_scope(log_p, none)
    signs = certainty_signs(
        log_p[rows],
        winner[rows],
        margins[rows],
        rule_scores[rows],
        likeness=likeness,
        nearest_label=nearest_label,
        unknown=np.array([vectors[row].unknown for row in rows.tolist()]),
        terms=np.array([float(len(vectors[row].ids)) for row in rows.tolist()]),
        none=none,
    )
    right = winner[rows] == labels[rows]
    confidence = np.zeros(len(rows))
    for fold in range(FOLDS):
        held = fold_of[rows] == fold
        if held.any() and not held.all():
            confidence[held] = Calibrator.fit(signs[~held], right[~held]).probabilities(signs[held])
    error = expected_calibration_error(confidence.tolist(), right.tolist())
    return Calibrator.fit(signs, right), error


def _nearest(
    matrix: "csr_matrix[Any]", labels: Ints, fold_of: Ints, rows: Ints
) -> tuple[Floats, Ints]:
    """Likeness and label of the nearest example in the other folds, for each of ``rows``."""
    likeness = np.zeros(len(rows))
    nearest_label = np.zeros(len(rows), dtype=np.int64)
    for fold in range(FOLDS):
        others = np.flatnonzero(fold_of != fold)
        wanted = np.flatnonzero(fold_of[rows] == fold)
        for part in np.array_split(wanted, max(1, len(wanted) // 200)):
            if len(part) and len(others):
                alike = (matrix[rows[part]] @ matrix[others].T).toarray()
                likeness[part] = alike.max(axis=1)
                nearest_label[part] = labels[others[alike.argmax(axis=1)]]
    return likeness, nearest_label
