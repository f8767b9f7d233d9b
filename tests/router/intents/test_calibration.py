import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kds.router.intents.calibration import Calibrator, expected_calibration_error, reliability


def sample(size: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Signs, and answers that are right with the probability sigmoid(2 * first sign)."""
    random = np.random.default_rng(seed)
    signs = random.normal(size=(size, 3))
    return signs, random.random(size) < 1.0 / (1.0 + np.exp(-2.0 * signs[:, 0]))


def test_confidence_is_the_share_of_right_answers() -> None:
    calibrator = Calibrator.fit(*sample(2000, seed=1))
    signs, right = sample(2000, seed=2)
    confidence = calibrator.probabilities(signs)
    assert expected_calibration_error(confidence.tolist(), right.tolist()) <= 0.03


def test_it_learns_which_sign_matters() -> None:
    calibrator = Calibrator.fit(*sample(2000, seed=1))
    assert calibrator.weights[0] > 5 * np.abs(calibrator.weights[1:]).max()


def test_one_and_many_are_told_the_same() -> None:
    signs, right = sample(300, seed=3)
    calibrator = Calibrator.fit(signs, right)
    many = calibrator.probabilities(signs[:5])
    assert [calibrator.probability(row) for row in signs[:5]] == pytest.approx(many.tolist())


def test_all_answers_right_is_not_a_reason_for_certainty() -> None:
    signs, _ = sample(40, seed=4)
    calibrator = Calibrator.fit(signs, np.ones(40, dtype=bool))
    assert 0.8 < calibrator.probability(signs[0]) < 1.0


@given(st.lists(st.floats(-1e6, 1e6), min_size=3, max_size=3))
def test_far_off_signs_still_give_a_probability(signs: list[float]) -> None:
    calibrator = Calibrator.fit(*sample(200, seed=5))
    assert 0.0 <= calibrator.probability(signs) <= 1.0


def test_the_error_is_the_distance_of_confidence_and_truth() -> None:
    overconfident = expected_calibration_error([0.95] * 100, [True] * 60 + [False] * 40)
    assert overconfident == pytest.approx(0.35)


def test_a_message_of_weight_two_counts_as_two_messages() -> None:
    signs, right = sample(100, seed=6)
    twice = Calibrator.fit(np.vstack([signs, signs]), np.concatenate([right, right]))
    weighed = Calibrator.fit(signs, right, np.full(100, 2.0))
    assert weighed.weights == pytest.approx(twice.weights)


def test_bins_hold_about_as_many_messages_each() -> None:
    bins = reliability([number / 100 for number in range(100)], [True] * 50 + [False] * 50)
    assert [one.count for one in bins] == [10] * 10
    assert (bins[0].accuracy, bins[-1].accuracy) == (1.0, 0.0)
    assert reliability([], []) == ()
