"""The time a question names: "in August 2023", "on 3 May", "yesterday".

What was said inside that time is likelier meant, though never the only candidate: people also
talk about last month.
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

_MONTH: Final = r"(?P<month>" + "|".join(MONTHS) + r")"
_DAY: Final = r"(?P<{}>\d{{1,2}})(?:st|nd|rd|th)?"
_YEAR: Final = r"(?:19|20)\d\d"

_NAMED: Final = re.compile(
    rf"""(?P<before>\b(?:in|on|of|during|since|by|until|from|last|this|early|late|mid)\s+)?
    \b(?:{_DAY.format("first")}\s+(?:of\s+)?)?
    {_MONTH}\b
    (?:\s+{_DAY.format("second")}\b(?!\s*[ap]m))?
    (?:\s*,?\s*(?P<year>{_YEAR})\b)?""",
    re.VERBOSE | re.IGNORECASE,
)

_ISO: Final = re.compile(r"\b(?P<year>(?:19|20)\d\d)-(?P<month>\d\d)(?:-(?P<day>\d\d))?\b")

_ONLY_YEAR: Final = re.compile(rf"\b(?:in|of|during|since)\s+(?P<year>{_YEAR})\b", re.IGNORECASE)

_RELATIVE: Final = re.compile(r"\b(today|yesterday|(?:this|last) (?:week|month|year))\b", re.I)

_MODAL_OR_VERB: Final = frozenset({"may", "march"})
"""Months that are words of their own: they count with a day, a year or "in" beside them."""


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
        return _absolute(int(found["year"]), int(found["month"]), _number(found["day"]))
    for found in _NAMED.finditer(text):
        if _is_month(found):
            month = MONTHS.index(found["month"].lower()) + 1
            day = _number(found["first"]) or _number(found["second"])
            year = _number(found["year"])
            return _absolute(year, month, day) if year else Period(month=month, day=day)
    if found := _ONLY_YEAR.search(text):
        year = int(found["year"])
        return Period(date(year, 1, 1), date(year, 12, 31))
    relative = _RELATIVE.search(text) if now else None
    return _relative(relative[1].lower(), now.date()) if relative and now else None


def _number(text: str | None) -> int | None:
    return int(text) if text else None


def _is_month(found: re.Match[str]) -> bool:
    beside = found["before"] or found["first"] or found["second"] or found["year"]
    if found["month"].lower() in _MODAL_OR_VERB:
        return bool(beside) and (found["month"][0].isupper() or bool(found["year"]))
    return True


def _absolute(year: int, month: int, day: int | None) -> Period | None:
    try:
        first = date(year, month, day or 1)
    except ValueError:  # the 31st of June: no time at all
        return None
    if day:
        return Period(first, first)
    following = date(year + month // 12, month % 12 + 1, 1)
    return Period(first, following - timedelta(days=1))


def _relative(words: str, today: date) -> Period:
    if words in ("today", "yesterday"):
        day = today - timedelta(days=words == "yesterday")
        return Period(day, day)
    which, unit = words.split()
    if unit == "week":
        monday = today - timedelta(days=today.weekday() + (7 if which == "last" else 0))
        return Period(monday, monday + timedelta(days=6))
    if unit == "month":
        last = today if which == "this" else today.replace(day=1) - timedelta(days=1)
        return Period(last.replace(day=1), last)
    year = today.year - (which == "last")
    return Period(date(year, 1, 1), date(year, 12, 31))
