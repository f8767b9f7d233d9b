import numpy as np
import pytest

from kds.api.measures import calibration_error
from kds.router.intents import linear
from kds.router.intents.linear import COST, Calibrator, Linear, log_softmax


def sample(size: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Signs, and answers that are right with the probability sigmoid(2 * first sign)."""
    random = np.random.default_rng(seed)
    signs = random.normal(size=(size, 3))
    return signs, random.random(size) < 1.0 / (1.0 + np.exp(-2.0 * signs[:, 0]))


def test_confidence_is_the_share_of_right_answers() -> None:
    calibrator = Calibrator.fit(*sample(2000, seed=1))
    signs, right = sample(2000, seed=2)
    confidence = calibrator.probabilities(signs)
    assert calibration_error([*zip(confidence, right, strict=True)]) <= 0.03


def test_a_softmax_regression_equals_that_of_scikit_learn(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(linear, "TOLERANCE", 1e-9)
    linear_model = pytest.importorskip("sklearn.linear_model")
    random = np.random.default_rng(0)
    rows = random.normal(size=(120, 6)).astype(np.float32)
    labels = (rows[:, :3] + random.normal(size=(120, 3))).argmax(axis=1)
    counts = random.uniform(0.5, 2.0, 120)
    ours = Linear.fit(rows, labels, counts, Linear.zeros(6, 3))
    theirs = linear_model.LogisticRegression(C=COST).fit(rows, labels, sample_weight=counts)
    expected = theirs.predict_log_proba(rows)
    assert log_softmax(ours.scores(rows)) == pytest.approx(expected, abs=0.01)


def test_anchored_weights_move_as_little_as_an_example_takes() -> None:
    start = Linear(np.eye(3, dtype=np.float32) * 4, np.zeros(3))
    rows, labels = np.array([[1, 0, 0]], dtype=np.float32), np.array([1])
    moved = Linear.fit(rows, labels, np.ones(1), start, anchored=True)
    assert moved.scores(rows).argmax() == 1
    assert np.abs(moved.weights - start.weights)[1:].max() < 1e-3


def test_all_answers_right_is_not_a_reason_for_certainty() -> None:
    signs, _ = sample(40, seed=4)
    calibrator = Calibrator.fit(signs, np.ones(40, dtype=bool))
    assert 0.8 < float(calibrator.probabilities(signs[:1])[0]) < 1.0
