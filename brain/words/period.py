"""The time a question names: "in August 2023", "on 3 May", "yesterday".

Messages of that time are likelier meant, though never the only candidates: people also talk about
last month.
"""

import re
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from typing import Final

MONTHS: Final = (
    "january", "february", "march", "april", "may", "june", "july", "august", "september",
    "october", "november", "december",
)  # fmt: skip
"""The names of the months, in order."""

_YEAR: Final = r"(?P<year>(?:19|20)\d\d)"
_ISO: Final = re.compile(rf"\b{_YEAR}-(?P<month>\d\d)(?:-(?P<day>\d\d))?\b")
_NAMED: Final = re.compile(
    rf"""(?P<before>\b(?:in|on|of|during|since|by|until|from|last|this|early|late|mid)\s+)?
    \b(?:(?P<first>\d{{1,2}})(?:st|nd|rd|th)?\s+(?:of\s+)?)?
    (?P<month>{"|".join(MONTHS)})\b
    (?:\s+(?P<second>\d{{1,2}})(?:st|nd|rd|th)?\b(?!\s*[ap]m))?
    (?:\s*,?\s*{_YEAR}\b)?""",
    re.VERBOSE | re.IGNORECASE,
)
_ONLY_YEAR: Final = re.compile(rf"\b(?:in|of|during|since)\s+{_YEAR}\b", re.IGNORECASE)
_RELATIVE: Final = re.compile(r"\b(today|yesterday|(?:this|last) (?:week|month|year))\b", re.I)


@dataclass(frozen=True, slots=True)
class Period:
    """Days from ``first`` to ``last``, or a ``month`` (1-12), perhaps a ``day``, of any year."""

    first: date | None = None
    last: date | None = None
    month: int | None = None
    day: int | None = None

    def covers(self, at: datetime) -> bool:
        """Tell whether a moment lies inside."""
        if self.first is not None and self.last is not None:
            return self.first <= at.date() <= self.last
        return at.month == self.month and self.day in (None, at.day)


def find_period(text: str, now: datetime | None = None) -> Period | None:
    """Return the first time that ``text`` names; relative ones count from ``now``.

    >>> find_period("What did we decide in March 2024?")
    Period(first=datetime.date(2024, 3, 1), last=datetime.date(2024, 3, 31), month=None, day=None)
    >>> find_period("It may march on") is None
    True
    """
    if found := _ISO.search(text):
        return _absolute(found["year"], int(found["month"]), int(found["day"] or 0))
    for found in _NAMED.finditer(text):
        # "may" and "march" need a day, a year or "in" beside them
        beside = (found["before"] or found["first"] or found["second"]) and found["month"].istitle()
        if found["year"] or beside or found["month"].lower() not in ("may", "march"):
            month = MONTHS.index(found["month"].lower()) + 1
            day = int(found["first"] or found["second"] or 0)
            if found["year"]:
                return _absolute(found["year"], month, day)
            return Period(month=month, day=day or None)
    if found := _ONLY_YEAR.search(text):
        return Period(date(int(found["year"]), 1, 1), date(int(found["year"]), 12, 31))
    relative = _RELATIVE.search(text)
    return _relative(relative[1].lower(), now.date()) if relative and now else None


def _absolute(year: str, month: int, day: int) -> Period | None:
    try:
        first = date(int(year), month, day or 1)
    except ValueError:  # the 31st of June
        return None
    return Period(first, first if day else _month_end(first))


def _month_end(first: date) -> date:
    return (first + timedelta(days=31)).replace(day=1) - timedelta(days=1)


def _relative(words: str, today: date) -> Period:
    which, _, unit = words.partition(" ")
    back = which in ("last", "yesterday")
    if unit == "week":
        monday = today - timedelta(days=today.weekday() + 7 * back)
        return Period(monday, monday + timedelta(days=6))
    if unit == "month":
        first = (today.replace(day=1) - timedelta(days=back)).replace(day=1)
        return Period(first, _month_end(first))
    if unit == "year":
        return Period(date(today.year - back, 1, 1), date(today.year - back, 12, 31))
    return Period(today - timedelta(days=back), today - timedelta(days=back))
