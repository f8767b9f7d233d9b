"""The colours and times of every command, and whether there is anybody to see them.

Who reads a pipe gets the same information without colour, and times and tables as programs want
them; so does a terminal with `--plain`. `NO_COLOR` takes the colours alone.
"""

import os
import re
import sys
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime, timedelta
from typing import Final, Literal

import click

from kds.brain.clock import moment, utc_now

Tone = Literal[
    "label", "ok", "problem", "note", "intent", "sure", "unsure", "expected", "actual", "resolved"
]

STYLES: Final[Mapping[Tone, str]] = {
    "label": "dim",
    "ok": "green",
    "problem": "bold red",
    "note": "yellow",
    "intent": "bold cyan",
    "sure": "green",
    "unsure": "yellow",
    "expected": "green",
    "actual": "red",
    "resolved": "bold magenta",
}
"""What is said -> how it looks, in rich's words. Only the sixteen colours of the terminal's own
theme: they are readable on light and dark ones."""

COLUMNS: Final[Mapping[str, Tone]] = {
    "intent": "intent",
    "expected": "expected",
    "actual": "actual",
    "refers to": "resolved",
}
"""Columns of tables whose cells have a tone of their own, by their heading."""

_MINUTE: Final = timedelta(minutes=1)
_HOUR: Final = timedelta(hours=1)

_COMPARED: Final = re.compile(r"\s+(?:\w+\s+)?(?P<sign>[-+]) |\s+(?P<name>expected|actual)\s")
_TONES: Final[Mapping[str, Tone]] = {
    "-": "expected", "+": "actual", "expected": "expected", "actual": "actual",
}  # fmt: skip


def asked_plain() -> bool:
    """Whether `--plain` was given."""
    context = click.get_current_context(silent=True)
    return context is not None and bool(context.find_root().params.get("plain"))


def for_people(*, err: bool = False) -> bool:
    """Whether a person reads the stream, and wants it made for people."""
    stream = sys.stderr if err else sys.stdout
    return stream is not None and stream.isatty() and not asked_plain()


def coloured(*, err: bool = False) -> bool:
    """Whether there are to be colours."""
    off = os.environ.get("NO_COLOR") or os.environ.get("TERM") == "dumb"
    return not off and for_people(err=err)


def toned(text: str, tone: Tone, *, err: bool = False) -> str:
    """``text`` in its tone where there are colours, else as it is."""
    if not text or not coloured(err=err):
        return text
    from rich.color import ColorSystem  # 20 ms of imports: only a terminal pays
    from rich.style import Style

    return Style.parse(STYLES[tone]).render(text, color_system=ColorSystem.STANDARD)


def marked(text: str, spans: Sequence[tuple[int, int]]) -> str:
    """``text`` with the words at these places shown as resolved; places do not overlap."""
    pieces, at = [], 0
    for start, end in sorted(spans):
        pieces += [text[at:start], toned(text[start:end], "resolved")]
        at = end
    return "".join([*pieces, text[at:]])


def compared(text: str) -> str:
    """What a failure says, its expected and actual lines in their tones."""
    return "\n".join(_compared(line) for line in text.split("\n")) if coloured() else text


def _compared(line: str) -> str:
    found = _COMPARED.match(line)
    return line if found is None else toned(line, _TONES[found["sign"] or found["name"]])


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
