"""The form of a rewrite: what shows without understanding it that it is none."""

import re
import unicodedata
from typing import Final

from kds.brain.words.tokens import estimate_tokens
from kds.router.rewriting import wordlists as known
from kds.router.rewriting.text import straight
from kds.router.rewriting.told import Fault, Told

OUTPUT_TOKENS: Final = 150
"""Longest rewrite, in tokens (DESIGN 5)."""

_QUOTES: Final = "\"'`“”‘’«»"


_LINE_END: Final = re.compile("[\n\r\u2028\u2029]")

_PATTERNS: Final = (
    ("prefix", known.PREFIX), ("instructions", known.OBEYING), ("markup", known.MARKUP),
)  # fmt: skip


def form(text: str, told: Told) -> Fault | None:
    """What can be seen without reading: shape, length, script, what no message would have."""
    if not text:
        return Fault("empty")
    if _LINE_END.search(text):
        return Fault("lines", "more than one line")
    limit = max(OUTPUT_TOKENS, estimate_tokens(told.message))
    if len(text) > 12 * limit or estimate_tokens(text) > limit:
        return Fault("length", f"more than {limit} tokens")
    if strange := next((char for char in text if not _is_usual(char, told)), None):
        return Fault("characters", f"U+{ord(strange):04X}")
    return _announced(text, straight(told.message).lower()) or _quoted(text, told.message)


def _announced(text: str, message: str) -> Fault | None:
    """What a model writes around a rewrite, unless the message has it."""
    for name, pattern in _PATTERNS:
        match = pattern.search(straight(text))
        if match is not None and match[0].strip().lower() not in message:
            return Fault(name, match[0].strip())
    return None


def _quoted(text: str, message: str) -> Fault | None:
    quoted = text[0] in _QUOTES and text[-1] in _QUOTES
    return Fault("quotes") if quoted and message.strip()[:1] not in _QUOTES else None


def _is_usual(char: str, told: Told) -> bool:
    """A character that was used before, or one that any English sentence may have."""
    if char in told.characters or (char.isascii() and char.isprintable()):
        return True
    if unicodedata.category(char) in ("Pi", "Pf", "Pd"):
        return True
    return unicodedata.name(char, "").startswith("LATIN ") and char.isalpha()
