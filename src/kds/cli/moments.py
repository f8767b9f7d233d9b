"""When something was: for programs in ISO 8601, for people as they would say it."""

from datetime import UTC, datetime, timedelta
from typing import Final

from kds.brain.clock import moment, utc_now
from kds.cli.palette import for_people

_MINUTE: Final = timedelta(minutes=1)
_HOUR: Final = timedelta(hours=1)


def shown(at: datetime) -> str:
    """A moment as the reader of stdout wants it: on a terminal `3 min ago`, in a pipe ISO 8601."""
    return ago(at, now=utc_now()) if for_people() else moment(at)


def shown_text(at: str) -> str:
    """The same for a moment that is text already; what is none stays as it is."""
    try:
        found = datetime.fromisoformat(at)
    except ValueError:
        return at
    if not for_people():
        return at
    return ago(found if found.tzinfo else found.replace(tzinfo=UTC), now=utc_now())


def ago(at: datetime, *, now: datetime) -> str:
    """Say when ``at`` was, in the local time of this machine.

    >>> noon = datetime(2025, 11, 3, 12, 0).astimezone()
    >>> [ago(noon - timedelta(**span), now=noon) for span in ({"seconds": 5}, {"minutes": 3})]
    ['just now', '3 min ago']
    >>> ago(noon - timedelta(hours=3), now=noon), ago(noon - timedelta(hours=22), now=noon)
    ('today 09:00', 'yesterday 14:00')
    >>> ago(noon - timedelta(days=9), now=noon), ago(noon - timedelta(days=400), now=noon)
    ('25 Oct 12:00', '29 Sep 2024')
    """
    local, today = at.astimezone(), now.astimezone()
    age = now - at
    if timedelta(0) <= age < _HOUR:
        return "just now" if age < _MINUTE else f"{age // _MINUTE} min ago"
    if local.date() == today.date():
        return f"today {local:%H:%M}"
    if local.date() == today.date() - timedelta(days=1):
        return f"yesterday {local:%H:%M}"
    day = f"{local.day} {local:%b}"
    return f"{day} {local:%H:%M}" if local.year == today.year else f"{day} {local.year}"
