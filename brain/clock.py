"""Time as a dependency: code that needs the time is handed a clock."""

from collections.abc import Callable
from datetime import UTC, datetime

Clock = Callable[[], datetime]
"""Returns the present moment as an aware datetime in UTC."""


def utc_now() -> datetime:
    """The real clock."""
    return datetime.now(UTC)


def moment(at: datetime, timespec: str = "seconds") -> str:
    """A UTC moment as JSON has it; ``timespec`` is that of `datetime.isoformat`.

    >>> moment(datetime(2025, 11, 3, 9, 0, 0, 125_000, tzinfo=UTC))
    '2025-11-03T09:00:00Z'
    >>> moment(datetime(2025, 11, 3, 9, 0, 0, 125_000, tzinfo=UTC), "auto")
    '2025-11-03T09:00:00.125000Z'
    """
    return at.isoformat(timespec=timespec).replace("+00:00", "Z")


def read_moment(text: str, *, name: str) -> datetime:
    """Read an ISO 8601 time with its zone, as UTC. Raises ValueError, which tells the ``name``."""
    try:
        at = datetime.fromisoformat(text)
        if at.tzinfo is None:
            raise ValueError("no time zone")
        return at.astimezone(UTC)
    except (ValueError, OverflowError) as error:
        raise ValueError(f"'{name}' is not an ISO 8601 time with its zone") from error


def minute(at: datetime) -> str:
    """A UTC moment as people read it.

    >>> minute(datetime(2025, 11, 3, 9, 5, tzinfo=UTC))
    '2025-11-03 09:05 UTC'
    """
    return f"{at:%Y-%m-%d %H:%M} UTC"
