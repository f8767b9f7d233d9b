"""Time as a dependency: code that needs the time is handed a clock. And where it goes: spans.

What works in stages opens a span for each (`span`); what wants to measure them sets WATCH.
"""

from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from contextvars import ContextVar
from datetime import UTC, datetime
from typing import Final

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


Watch = Callable[[str], AbstractContextManager[object]]
"""Is told the name of a stage, and gives what is open as long as it lasts."""

WATCH: Final[ContextVar[Watch]] = ContextVar("kds-watch", default=lambda stage: nullcontext())


def span(stage: str) -> AbstractContextManager[object]:
    """Open a stage of the call that is being made.

    >>> with span("resolve"):
    ...     pass
    """
    return WATCH.get()(stage)
