"""What events add up to."""

from datetime import UTC, datetime, timedelta

from kds.brain.learning.candidate import Candidate, find_candidates
from kds.brain.learning.event import Kind, LearningEvent

NOON = datetime(2026, 1, 1, 12, tzinfo=UTC)
TEXT = "sort out the login page"


def event(hours: float, intent: str = "PLAN", kind: Kind = "corrected") -> LearningEvent:
    return LearningEvent(NOON + timedelta(hours=hours), kind, TEXT, intent, was="EXECUTE")


def only(events: list[LearningEvent], intent: str = "PLAN") -> Candidate:
    found = find_candidates(events, now=NOON + timedelta(days=30))
    return next(one for one in found if one.intent == intent)


def test_three_events_at_different_times_make_a_proposal() -> None:
    one = only([event(0), event(1), event(2)])
    assert (one.state, one.occurrences, one.against) == ("proposed", 3, 0)
    assert one.was == ("EXECUTE",)
    assert one.why == "corrected 3 times, 2026-01-01"


def test_three_events_within_one_sitting_are_one() -> None:
    one = only([event(0), event(0.05), event(0.15)])
    assert (one.state, one.occurrences) == ("waiting", 1)


def test_spellings_of_one_message_count_together() -> None:
    loud = LearningEvent(NOON + timedelta(hours=2), "told", "SORT OUT the login  page!!", "PLAN")
    assert only([event(0), event(1), loud]).occurrences == 3


def test_a_contradiction_lowers_both_sides() -> None:
    events = [event(0), event(1), event(2), event(3, "TEST")]
    assert only(events).state == "waiting"
    assert only(events).against == 1
    assert only(events, "TEST").confidence < 0.2


def test_what_was_rejected_is_never_proposed_again() -> None:
    events = [event(0), event(1), event(2), event(3, kind="rejected"), event(4), event(5)]
    assert only(events).state == "rejected"


def test_what_was_undone_begins_anew() -> None:
    events = [event(hour) for hour in range(6)]
    events += [event(6, kind="adopted"), event(7, kind="undone")]
    assert (only(events).state, only(events).occurrences) == ("waiting", 0)
    events += [event(8), event(9), event(10)]
    assert (only(events).state, only(events).occurrences) == ("proposed", 3)


def test_what_the_guard_refused_is_not_proposed() -> None:
    events = [event(hour) for hour in range(6)]
    events += [event(6, kind="adopted"), event(7, kind="refused"), event(8)]
    assert only(events).state == "refused"


def test_events_dated_in_the_future_do_not_count() -> None:
    found = find_candidates([event(0), event(1), event(2)], now=NOON + timedelta(hours=1))
    assert found[0].occurrences == 2
