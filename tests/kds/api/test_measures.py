"""The measures that the scores share."""

from hypothesis import given
from hypothesis import strategies as st

from kds.api.measures import mean, percentile, rounded, share


@given(st.lists(st.floats(0, 1e6), min_size=1), st.floats(1, 100))
def test_a_percentile_is_one_of_the_values(values: list[float], percent: float) -> None:
    found = percentile(values, percent)
    assert found in values
    assert sum(value <= found for value in values) >= len(values) * percent / 100 - 1e-6


def test_what_was_not_checked_does_not_count() -> None:
    assert share([True, False, None]) == 0.5
    assert share([None]) is None


def test_no_values_have_no_mean_and_no_percentile() -> None:
    assert mean([]) is None
    assert percentile([], 50) == 0.0


def test_whole_numbers_and_absent_ones_stay_as_they_are() -> None:
    assert rounded({"a": 3, "b": None, "c": 0.123456}) == {"a": 3, "b": None, "c": 0.1235}
