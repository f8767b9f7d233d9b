"""How sure a number of events makes us."""

from datetime import UTC, datetime, timedelta
from itertools import pairwise

from hypothesis import example, given
from hypothesis import strategies as st

from kds.brain.learning.evidence import (
    ACT_MIN,
    APART,
    ASK_MIN,
    MIN_OCCURRENCES,
    confidence,
    occurrences,
    standing,
)

NOON = datetime(2026, 1, 1, 12, tzinfo=UTC)
COUNTS = st.integers(0, 200)


def test_one_event_and_two_wait_three_are_proposed_six_are_accepted() -> None:
    assert [standing(count) for count in range(1, 7)] == [
        *("waiting", "waiting", "proposed", "proposed", "proposed", "due")
    ]


def test_one_objection_to_six_agreeing_events_takes_them_below_a_proposal() -> None:
    assert confidence(6) >= ACT_MIN
    assert confidence(6, 1) < ASK_MIN
    assert standing(6, 1) == "waiting"


@given(COUNTS, COUNTS)
@example(0, 156)
def test_a_further_event_never_lowers_what_it_speaks_for(agreeing: int, against: int) -> None:
    now = confidence(agreeing, against)
    assert 0.0 <= now < 1.0
    assert confidence(agreeing + 1, against) >= now
    assert confidence(agreeing, against + 1) <= now


@given(COUNTS, COUNTS)
def test_nothing_is_proposed_before_the_least_number_of_events(agreeing: int, against: int) -> None:
    if agreeing < MIN_OCCURRENCES:
        assert standing(agreeing, against) == "waiting"


@given(st.lists(st.integers(0, 86_400 * 3), max_size=30))
def test_events_that_count_are_apart_and_a_burst_counts_once(seconds: list[int]) -> None:
    moments = [NOON + timedelta(seconds=one) for one in seconds]
    counted = occurrences(moments)
    assert set(counted) <= set(moments)
    assert bool(counted) == bool(moments)
    assert all(b - a >= APART for a, b in pairwise(counted))
    assert occurrences(moments * 3) == counted
