"""The colours of every command, and whether there is anybody to see them.

Who reads a pipe gets the same information without colour, and times and tables as programs want
them; so does a terminal with `--plain`. `NO_COLOR` takes the colours alone.
"""

import os
import re
import sys
from collections.abc import Mapping, Sequence
from typing import Final, Literal

import click

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
