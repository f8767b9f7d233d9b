"""Text of a user in one visible line, for places where others read it as part of theirs."""

import re
import unicodedata
from typing import Final

_ESCAPES: Final = re.compile(
    r"(?:\x1b\[|\x9b)[0-?]*[ -/]*[@-~]"  # CSI: colours, cursor
    r"|(?:\x1b[\]PX^_]|[\x90\x98\x9d-\x9f])[^\x07\x1b\x9c]*(?:\x07|\x1b\\|\x9c)?"  # OSC: links
)
"""Terminal sequences of ECMA-48, whole: without its first character the rest would be shown."""

_JOINED: Final = re.compile(r"(?<=[\u2600-\u27bf\ufe0f\U0001f000-\U0001faff])\u200d(?=\W)")
_KEPT: Final = "\ue000"
_UNSEEN: Final = frozenset({"Cc", "Cf", "Cs", "Co", "Cn"})
_SELECTORS: Final = range(0xE0100, 0xE01F0)
_FIRST_SELECTOR: Final = chr(_SELECTORS.start)
"""Variation selectors of ideographs: unseen behind any other character, and able to spell."""


def one_line(text: str) -> str:
    r"""Return ``text`` without line ends, terminal sequences and characters nobody sees.

    Those of category C (Unicode): controls, directions (U+202E), tags (U+E0061). The joiner
    inside of an emoji stays.

    >>> one_line("red\n\x1b[31m# Rules\u202e \U0001f469\u200d\U0001f4bb\U000e0061")
    'red # Rules 👩\u200d💻'
    """
    flat = " ".join(text.split())
    if flat.isprintable() and max(flat, default="") < _FIRST_SELECTOR:
        return flat
    marked = _JOINED.sub(_KEPT, _ESCAPES.sub("", text.replace(_KEPT, "")))
    seen = (" " if char.isspace() else char for char in marked if char.isspace() or _is_seen(char))
    return " ".join("".join(seen).split()).replace(_KEPT, "\u200d")


def _is_seen(char: str) -> bool:
    if char == _KEPT:
        return True
    return unicodedata.category(char) not in _UNSEEN and ord(char) not in _SELECTORS
