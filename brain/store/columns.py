"""What columns hold: moments, texts, JSON.

Moments are whole microseconds since 1970: they sort, and come back exactly.

`datetime` ends with the years 1 and 9999, and a time zone moves a moment beyond its ends. So what
is stored stays a year away from them, and what is stored already is read as the nearest such.
"""

import json
import sqlite3
from collections.abc import Collection, Mapping
from datetime import UTC, datetime, timedelta
from typing import Any, Final

from kds.brain.errors import StoreError
from kds.brain.message import without_controls
from kds.brain.secrets.redaction import redacted, without

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


def kept_text(text: str) -> str:
    r"""Return ``text`` as it may be stored, with secrets replaced; doing it again changes nothing.

    >>> kept_text("log in with password: hunter2\r\n")
    'log in with password: [secret: password]\n'
    """
    return redacted(without_controls(text))


def kept_data(value: Any, hidden: Collection[str] = ()) -> Any:
    """Return JSON data as it may be stored; words that are ``hidden`` (`withheld`) are, too.

    >>> kept_data({"said": ["password: hunter2", 1]}, {"hunter2"})
    {'said': ['password: [secret: password]', 1]}
    """
    if isinstance(value, str):
        return without(kept_text(value), hidden)
    if isinstance(value, Mapping):
        return {key: kept_data(one, hidden) for key, one in value.items()}
    if isinstance(value, list | tuple):
        return [kept_data(one, hidden) for one in value]
    return value


class DamagedRowError(sqlite3.DataError):
    """A column holds another kind of value than it was made for."""


def json_column(text: str) -> Any:
    """Read a column that holds JSON. Raises DamagedRowError when it does not."""
    try:
        return json.loads(text)
    except (ValueError, RecursionError) as error:
        raise DamagedRowError(f"invalid JSON: {error}") from error
