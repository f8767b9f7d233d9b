import numpy as np
import pytest

from kds.router.intents.features import FeatureSpace
from kds.router.intents.nearest import ExampleIndex
from kds.router.intents.terms import terms
from kds.router.intents.text_head import ExampleMatrix

TEXTS = (
    *(f"paint the {thing} red" for thing in ("door", "wall", "roof", "old fence")),
    *(f"wash the {thing} now" for thing in ("door", "wall", "floor", "windows")),
    *(f"who sold the {thing}" for thing in ("house", "wall", "car", "bike")),
)
LABELS = np.repeat([0, 1, 2], 4)
SEEN = np.array([0, 1, 2, 4, 5, 6, 8, 9, 10])
HELD = np.array([3, 7, 11])


@pytest.fixture(scope="module")
def matrix() -> ExampleMatrix:
    space = FeatureSpace.fit(list(map(terms, TEXTS)))
    return ExampleMatrix.build([space.vector(text) for text in TEXTS], LABELS, space)


def test_a_held_out_example_is_read_as_a_message_that_no_example_holds(
    matrix: ExampleMatrix,
) -> None:
    """The same numbers as features fitted without it, but for how rare the terms are."""
    readings = matrix.read(SEEN, HELD, None)
    space = FeatureSpace.fit([terms(TEXTS[row]) for row in SEEN])
    for number, row in enumerate(HELD.tolist()):
        fresh = space.vector(TEXTS[row])
        assert readings.unknown[number] == pytest.approx(fresh.unknown)
        assert readings.terms[number] == len(fresh.ids)
        assert readings.covered[number] == pytest.approx(fresh.covered, abs=0.05)
    assert readings.margins.argmax(axis=1).tolist() == [0, 1, 2]
    assert np.allclose(readings.margins, matrix.margins(SEEN, HELD))


def test_likeness_is_that_of_the_index_that_routes(matrix: ExampleMatrix) -> None:
    vectors = [matrix.space.vector(text) for text in TEXTS]
    index = ExampleIndex.build(vectors, LABELS, matrix.space.size)
    everything = np.arange(len(TEXTS))
    readings = matrix.read(everything, everything, None)
    for row, vector in enumerate(vectors):
        assert index.likeness(vector) == pytest.approx(readings.likeness[row], abs=1e-6)
        assert readings.likeness[row, LABELS[row]] == pytest.approx(1.0)


def test_a_label_that_is_left_out_wins_nothing(matrix: ExampleMatrix) -> None:
    readings = matrix.read(np.arange(8), np.array([8, 9]), None)
    assert (readings.likeness[:, 2] == 0.0).all()
    assert (readings.margins[:, 2] == -1.0).all()
