import pytest
from hypothesis import given
from hypothesis import strategies as st

from kds.brain.passages.rerank import DEFAULT, LONG, Weights, WeightsError, fuse, weights_for

Scores = dict[int, float]
SCORES = st.dictionaries(st.integers(0, 30), st.floats(-1, 20), max_size=12)
WEIGHTS = st.builds(Weights, st.floats(0, 1), st.floats(0.01, 1), st.floats(0, 1))
PLAIN = Weights(0.6, 0.3, 0.1)


def test_what_only_a_vector_found_needs_a_cosine() -> None:
    found = fuse({1: 4.0}, {}, {1: 0.1, 5: 0.29, 9: 0.3}, weights=PLAIN, least=0.3)
    assert found.keys() == {1, 9}


def test_meaning_counts_more_in_longer_passages_unless_the_user_chose() -> None:
    alphas = [weights_for(DEFAULT, [tokens]).alpha for tokens in (30, 60, 80, 300)]
    assert alphas == sorted(alphas)
    assert (alphas[0], alphas[-1]) == (DEFAULT.alpha, LONG.alpha)
    assert weights_for(PLAIN, [300]) == PLAIN


@pytest.mark.parametrize("values", [(-0.1, 0.5, 0.5), (0.5, 0, 0), (1, float("inf"), 0)])
def test_weights_that_make_no_sense_are_refused(values: tuple[float, float, float]) -> None:
    with pytest.raises(WeightsError):
        Weights(*values)


@given(SCORES, SCORES, SCORES, WEIGHTS)
def test_nothing_that_words_found_is_hidden_by_vectors(
    lexical: Scores, code: Scores, dense: Scores, weights: Weights
) -> None:
    found = fuse(lexical, code, dense, weights=weights)
    assert all(0.0 <= one.score <= 1.0 + 1e-9 for one in found.values())
    if max(lexical.values(), default=0.0) > 0.0:
        assert lexical.keys() <= found.keys()
