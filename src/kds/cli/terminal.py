"""The two output streams: colours and times for people, and nothing that a terminal would obey.

A pipe gets the same information without colours, with times in full; `NO_COLOR` takes away the
colours alone. Everything that a command prints goes through `guard_streams`: a cloned project names
files, rules and sessions, and must not move the cursor, set the clipboard or reorder text. Pipes
are spelt out as well, since `less -R` and `cat` pass it on.
"""

import os
import re
import sys
from collections.abc import Mapping
from datetime import datetime
from typing import Any, Final, Literal, TextIO, cast

from kds.brain.clock import moment

Tone = Literal["label", "ok", "problem", "note", "intent", "sure", "unsure", "resolved"]

STYLES: Final[Mapping[Tone, str]] = {
    "label": "dim",
    "ok": "green",
    "problem": "bold red",
    "note": "yellow",
    "intent": "bold cyan",
    "sure": "green",
    "unsure": "yellow",
    "resolved": "bold magenta",
}
"""Tone -> style, in rich's words: the sixteen colours of the terminal's own theme."""

_UNSAFE: Final = re.compile(
    r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]"
)
"""Control characters except tab and line feed, and those of the direction of text."""
_OBEYED: Final = re.compile(
    r"\x1b\[(?![\d;]*(?<!\d)0*8(?!\d))[\d;]*m"  # colours, except one that hides text
    rf"|\r\n|(?P<other>{_UNSAFE.pattern})"
)
_IN_A_PIPE: Final = re.compile(rf"\r\n|(?P<other>{_UNSAFE.pattern})")


def for_people(*, err: bool = False) -> bool:
    """Whether the stream is a terminal."""
    stream = sys.stderr if err else sys.stdout
    return stream is not None and stream.isatty()


def coloured(*, err: bool = False) -> bool:
    """Whether to use colours."""
    off = os.environ.get("NO_COLOR") or os.environ.get("TERM") == "dumb"
    return not off and for_people(err=err)


def toned(text: str, tone: Tone, *, err: bool = False) -> str:
    """``text`` in its tone where there are colours, else as it is."""
    if not text or not coloured(err=err):
        return text
    from rich.color import ColorSystem  # 20 ms of imports: only a terminal pays
    from rich.style import Style

    return Style.parse(STYLES[tone]).render(text, color_system=ColorSystem.STANDARD)


def shown(at: datetime) -> str:
    """A moment: local and short on a terminal, ISO 8601 in a pipe."""
    return f"{at.astimezone():%Y-%m-%d %H:%M}" if for_people() else moment(at)


def spelt(text: str, *, colours: bool = True) -> str:
    r"""Return ``text`` with what a terminal would obey spelt out, except ``colours``.

    >>> spelt("\x1b[32mok\x1b[m \x1b]0;title\x07") == "\x1b[32mok\x1b[m \\u001b]0;title\\u0007"
    True
    """
    obeyed = _OBEYED if colours else _IN_A_PIPE
    return obeyed.sub(
        lambda found: f"\\u{ord(found['other']):04x}" if found["other"] else found[0], text
    )


class _Spelling:
    """Spells control characters out instead of passing them on to the stream ``below``."""

    def __init__(self, below: TextIO) -> None:
        self.below = below

    def write(self, text: str, /) -> int:
        self.below.write(spelt(text, colours=self.below.isatty()))
        return len(text)

    def __getattr__(self, name: str) -> Any:
        return getattr(self.below, name)


def guard_streams() -> None:
    """Spell out what the process prints from now on."""
    sys.stdout, sys.stderr = _guarded(sys.stdout), _guarded(sys.stderr)


def _guarded(stream: TextIO) -> TextIO:
    is_open = hasattr(stream, "isatty")  # a stream that is closed is None
    if isinstance(stream, _Spelling) or not is_open:
        return stream
    return cast("TextIO", _Spelling(stream))


def drawn_on(stream: TextIO) -> TextIO:
    """The stream below the guard, for spinners and bars, which move the cursor themselves."""
    return stream.below if isinstance(stream, _Spelling) else stream
