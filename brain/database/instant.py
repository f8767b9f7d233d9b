"""Moments as whole microseconds since 1970: they sort, and come back exactly.

`datetime` ends with the years 1 and 9999, and a time zone moves a moment beyond its ends. So what
is stored stays a year away from them, and what is stored already is read as the nearest such.
"""

from datetime import UTC, datetime, timedelta
from typing import Final

from kds.brain.errors import StoreError

EARLIEST: Final = datetime(2, 1, 1, tzinfo=UTC)
LATEST: Final = datetime(9998, 12, 31, 23, 59, 59, 999_999, tzinfo=UTC)
"""The moments that can be stored, both included."""

_HINT: Final = "use a time of the years 2 to 9998, as in 2025-11-03T09:00:00Z"

_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECOND: Final = timedelta(microseconds=1)


def within_reach(moment: datetime) -> datetime:
    """Return an aware datetime that can be stored. Raises ValueError for any other.

    >>> within_reach(datetime(9999, 12, 31, tzinfo=UTC))
    Traceback (most recent call last):
    ValueError: not a moment of the years 2 to 9998
    """
    if not EARLIEST <= moment <= LATEST:
        raise ValueError("not a moment of the years 2 to 9998")
    return moment


def to_micros(moment: datetime) -> int:
    """Return an aware datetime as microseconds. Raises StoreError when it cannot be stored.

    >>> to_micros(datetime(1970, 1, 1, 0, 0, 1, 5, tzinfo=UTC))
    1000005
    """
    if moment.tzinfo is None:
        raise ValueError("a moment without a time zone")
    try:
        return (within_reach(moment) - _EPOCH) // _MICROSECOND
    except ValueError as error:
        raise StoreError(str(error), where=moment.isoformat(), hint=_HINT) from error


def from_micros(micros: int) -> datetime:
    """Return the moment in UTC; the nearest one that can be stored, when that is out of reach.

    >>> from_micros(1000005).isoformat()
    '1970-01-01T00:00:01.000005+00:00'
    """
    return _EPOCH + timedelta(microseconds=min(max(micros, _FIRST), _LAST))


_FIRST: Final = to_micros(EARLIEST)
_LAST: Final = to_micros(LATEST)
