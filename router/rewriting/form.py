"""The form of a rewrite: what shows without understanding it that it is none."""

import unicodedata
from typing import Final

from kds.brain.words.tokens import estimate_tokens
from kds.router.rewriting import words as known
from kds.router.rewriting.text import straight
from kds.router.rewriting.told import Fault, Told

OUTPUT_TOKENS: Final = 150
"""Longest rewrite, in tokens (DESIGN 5)."""

_QUOTES: Final = "\"'`“”‘’«»"


def form(text: str, told: Told) -> Fault | None:
    """What can be seen without reading: shape, length, script, what no message would have."""
    if not text:
        return Fault("empty")
    if "\n" in text or "\r" in text or "\u2028" in text or "\u2029" in text:
        return Fault("lines", "more than one line")
    limit = max(OUTPUT_TOKENS, estimate_tokens(told.message))
    if len(text) > 12 * limit or estimate_tokens(text) > limit:
        return Fault("length", f"more than {limit} tokens")
    if strange := next((char for char in text if not _is_usual(char, told)), None):
        return Fault("characters", f"U+{ord(strange):04X}")
    for name, pattern in (
        ("prefix", known.PREFIX),
        ("instructions", known.OBEYING),
        ("markup", known.MARKUP),
    ):
        match = pattern.search(straight(text))
        if match is not None and match[0].strip().lower() not in straight(told.message).lower():
            return Fault(name, match[0].strip())
    if text[0] in _QUOTES and text[-1] in _QUOTES and told.message.strip()[:1] not in _QUOTES:
        return Fault("quotes")
    return None


def _is_usual(char: str, told: Told) -> bool:
    """A character that was used before, or one that any English sentence may have."""
    if char in told.characters or (char.isascii() and char.isprintable()):
        return True
    if unicodedata.category(char) in ("Pi", "Pf", "Pd"):
        return True
    return unicodedata.name(char, "").startswith("LATIN ") and char.isalpha()
