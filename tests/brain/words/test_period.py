from datetime import UTC, date, datetime

import pytest

from kds.brain.words.period import Period, find_period

NOW = datetime(2025, 3, 12, 9, tzinfo=UTC)  # a Wednesday


@pytest.mark.parametrize(
    ("text", "period"),
    [
        ("the release of May 3rd, 2023", Period(date(2023, 5, 3), date(2023, 5, 3))),
        ("What did we plan in December 2023?", Period(date(2023, 12, 1), date(2023, 12, 31))),
        ("the outage of 2024-02-29", Period(date(2024, 2, 29), date(2024, 2, 29))),
        ("the figures for 2024-02", Period(date(2024, 2, 1), date(2024, 2, 29))),
        ("What changed in 2023?", Period(date(2023, 1, 1), date(2023, 12, 31))),
        ("What did I say in August?", Period(month=8)),
        ("the call on 4 July", Period(month=7, day=4)),
        ("What did we do yesterday?", Period(date(2025, 3, 11), date(2025, 3, 11))),
        ("notes of last week", Period(date(2025, 3, 3), date(2025, 3, 9))),
        ("Last month", Period(date(2025, 2, 1), date(2025, 2, 28))),
        ("last year's plan", Period(date(2024, 1, 1), date(2024, 12, 31))),
    ],
)
def test_a_time_in_a_question_is_found(text: str, period: Period) -> None:
    assert find_period(text, NOW) == period


@pytest.mark.parametrize(
    "text",
    ["It may work", "march on", "error 2023", "on 31 June 2023", "port 8081", "", "2024-13-01"],
)
def test_anything_but_time_is_none(text: str) -> None:
    assert find_period(text, NOW) is None


def test_relative_times_need_to_know_when_now_is() -> None:
    assert find_period("yesterday") is None


def test_a_month_covers_every_year_and_a_day_only_itself() -> None:
    assert Period(month=8).covers(datetime(1999, 8, 31, tzinfo=UTC))
    assert not Period(month=8, day=1).covers(datetime(1999, 8, 31, tzinfo=UTC))
