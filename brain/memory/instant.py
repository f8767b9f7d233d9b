"""Moments as whole microseconds since 1970: they sort, and come back exactly."""

from datetime import UTC, datetime, timedelta
from typing import Final

_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECOND: Final = timedelta(microseconds=1)


def to_micros(moment: datetime) -> int:
    """Return an aware datetime as microseconds.

    >>> to_micros(datetime(1970, 1, 1, 0, 0, 1, 5, tzinfo=UTC))
    1000005
    """
    if moment.tzinfo is None:
        raise ValueError("a moment without a time zone")
    return (moment - _EPOCH) // _MICROSECOND


def from_micros(micros: int) -> datetime:
    """Return the moment in UTC.

    >>> from_micros(1000005).isoformat()
    '1970-01-01T00:00:01.000005+00:00'
    """
    return _EPOCH + timedelta(microseconds=micros)
