"""Output that obeys nobody but KDS: a cloned project names files, rules and sessions.

Whatever a command prints goes through here, so that no command has to think of it. A pipe gets what
it was given spelt out as well: `less -R` and a terminal behind `cat` obey it like any other.
"""

import re
import sys
from typing import Any, Final, TextIO, cast

_UNSAFE: Final = re.compile(
    r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]"
)
"""Controls but tab and line feed, and those of the direction of text: neither a model nor a
document must move the cursor, set the clipboard, or show words in another order."""

_OBEYED: Final = re.compile(
    r"\x1b\[(?![\d;]*(?<!\d)0*8(?!\d))[\d;]*m"  # colours, but none that hides what stands there
    rf"|\r\n|(?P<other>{_UNSAFE.pattern})"  # a line's end, or what else
)
_IN_A_PIPE: Final = re.compile(rf"\r\n|(?P<other>{_UNSAFE.pattern})")


def spelt(text: str, *, colours: bool = True) -> str:
    r"""Return ``text`` with what a terminal would obey spelt out, but for ``colours``.

    >>> spelt("\x1b[32mok\x1b[m \x1b]0;title\x07") == "\x1b[32mok\x1b[m \\u001b]0;title\\u0007"
    True
    """
    obeyed = _OBEYED if colours else _IN_A_PIPE
    return obeyed.sub(
        lambda found: f"\\u{ord(found['other']):04x}" if found["other"] else found[0], text
    )


def harmless(text: str) -> str:
    r"""Return ``text`` without what a terminal obeys.

    >>> harmless("red\x1b[31m\n")
    'red[31m\n'
    """
    return _UNSAFE.sub("", text)


class _Spelling:
    """Shows controls instead of passing them on to the stream ``below``."""

    def __init__(self, below: TextIO) -> None:
        self.below = below

    def write(self, text: str, /) -> int:
        self.below.write(spelt(text, colours=self.below.isatty()))
        return len(text)

    def isatty(self) -> bool:
        return self.below.isatty()

    def __getattr__(self, name: str) -> Any:
        return getattr(self.below, name)


def guard_streams() -> None:
    """Put it in the place of the process's output streams."""
    sys.stdout, sys.stderr = _guarded(sys.stdout), _guarded(sys.stderr)


def _guarded(stream: TextIO) -> TextIO:
    is_open = hasattr(stream, "isatty")  # a stream that is closed is None
    if isinstance(stream, _Spelling) or not is_open:
        return stream
    return cast("TextIO", _Spelling(stream))


def drawn_on(stream: TextIO) -> TextIO:
    """Return the stream below, for what moves the cursor itself."""
    return stream.below if isinstance(stream, _Spelling) else stream
