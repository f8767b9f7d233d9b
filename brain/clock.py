"""Time as a dependency: whoever needs the time is handed a clock."""

from collections.abc import Callable
from datetime import UTC, datetime

Clock = Callable[[], datetime]
"""Returns the present moment as an aware datetime in UTC."""


def utc_now() -> datetime:
    """The real clock."""
    return datetime.now(UTC)
