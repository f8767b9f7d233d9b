"""Standard output and error: colours, times and progress for people; no control characters.

A pipe gets the same information without colours or spinners and with full timestamps; `NO_COLOR`
removes only the colours. Everything a command prints goes through `guard_streams`: a cloned project
names files, rules and sessions, and must not move the cursor, set the clipboard or reorder text.
Pipes are escaped too, because `less -R` and `cat` pass control characters on.
"""

import os
import re
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from datetime import datetime
from threading import Lock, Timer
from typing import TYPE_CHECKING, Any, Final, Literal, TextIO, cast

from kds.brain.clock import moment

if TYPE_CHECKING:  # 50 ms of imports: only a terminal that waits for something pays
    from rich.status import Status
    from rich.text import Text

Tone = Literal["label", "ok", "problem", "note", "intent", "sure", "unsure", "resolved"]

STYLES: Final[Mapping[Tone, str]] = {
    "label": "dim", "ok": "green", "problem": "bold red", "note": "yellow",
    "intent": "bold cyan", "sure": "green", "unsure": "yellow", "resolved": "bold magenta",
}  # fmt: skip
"""Tone -> style, in rich's words: the sixteen colours of the terminal's own theme."""

SLOW_S: Final = 0.5
"""Shorter waits need no explanation: 1 s is noticed (Nielsen, Usability Engineering, 1993)."""

_UNSAFE: Final = r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]"
"""Control characters except tab and line feed, and the marks that set text direction."""
_IN_A_PIPE: Final = re.compile(rf"\r\n|(?P<other>{_UNSAFE})")
_OBEYED: Final = re.compile(
    r"\x1b\[(?![\d;]*(?<!\d)0*8(?!\d))[\d;]*m"  # colours, except one that hides text
    rf"|{_IN_A_PIPE.pattern}"
)


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
    r"""Return ``text`` with control characters escaped; ``colours`` may stay.

    >>> spelt("\x1b[32mok\x1b[m \x1b]0;title\x07") == "\x1b[32mok\x1b[m \\u001b]0;title\\u0007"
    True
    """
    obeyed = _OBEYED if colours else _IN_A_PIPE
    return obeyed.sub(
        lambda found: f"\\u{ord(found['other']):04x}" if found["other"] else found[0], text
    )


class _Spelling:
    """Escapes control characters before they reach the stream ``below``."""

    def __init__(self, below: TextIO) -> None:
        self.below = below

    def write(self, text: str, /) -> int:
        self.below.write(spelt(text, colours=self.below.isatty()))
        return len(text)

    def __getattr__(self, name: str) -> Any:
        return getattr(self.below, name)


def guard_streams() -> None:
    """Escape control characters in whatever the process prints from now on."""
    for name in ("stdout", "stderr"):
        stream = getattr(sys, name)
        if hasattr(stream, "isatty") and not isinstance(stream, _Spelling):  # None: it is closed
            setattr(sys, name, cast("TextIO", _Spelling(stream)))


@contextmanager
def slow(what: str) -> Iterator["_Notice"]:
    """Show what is being done once the block takes longer than `SLOW_S`.

    What it yields is called with what is done, how much, and the total; its `end` takes the notice
    away early, for when an answer starts to arrive.
    """
    notice = _Notice(what)
    try:
        yield notice
    finally:
        notice.end()


class _Notice:
    """A spinner and a text: shown by the thread of a timer, changed and ended by the worker."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._lock = Lock()
        self._status: Status | None = None
        self._timer = Timer(SLOW_S, self._show)
        self._timer.daemon = True
        if sys.stderr is not None and (sys.stderr.isatty() or "FORCE_COLOR" in os.environ):
            self._timer.start()

    def __call__(self, what: str, done: int, total: int) -> None:
        self._text = spelt(f"{what} {done:,}/{total:,}")  # may be the name of a file
        if self._status is not None:
            self._status.update(self._shown())

    def end(self) -> None:
        with self._lock:
            self._timer.cancel()
            if self._status is not None:
                self._status.stop()

    def _show(self) -> None:
        from rich.console import Console

        with self._lock:
            if not self._timer.finished.is_set():
                # a spinner moves the cursor itself: it is drawn below the guard
                stream = getattr(sys.stderr, "below", sys.stderr)
                self._status = Console(file=stream).status(self._shown())
                self._status.start()

    def _shown(self) -> "Text":
        from rich.text import Text  # as it is: in a string rich would read markup

        return Text(f"{self._text} ...")
