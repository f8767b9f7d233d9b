"""Misspelt question words at the start of a message: "waht about", "hwo long", "wich one".

Only there, and only a slip of one letter (one too few, too many, wrong, or two swapped) of a word
that opens questions: that much the form of the message tells. Everything else stays as written.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Final

from kds.brain.turn import Edit, Reference
from kds.router.english import words
from kds.router.language.lexicon import readings

_OPENER: Final = re.compile(
    r"^(?:(?:and|so|but|ok|okay|also|then|hi|hello)\b[\s,]*)*(?P<word>[a-z]{3,6})(?=\s+[a-z])", re.I
)
_OPENERS: Final = words("function_words", "question_openers")
_HOW: Final = words("qualities", "behind_how")


@dataclass(frozen=True, slots=True)
class Mended:
    """A message with its opener spelt right, and where that stands in the original."""

    text: str
    edit: Edit

    def original(self, at: int) -> int:
        """The place in the original of a place in the mended text."""
        grown = len(self.edit.text) - (self.edit.end - self.edit.start)
        return at if at <= self.edit.start else max(at - grown, self.edit.start)

    def edits(self, edits: Sequence[Edit]) -> tuple[Edit, ...]:
        """Edits of the mended text as edits of the original, which they mend as well."""
        moved = tuple(Edit(self.original(e.start), self.original(e.end), e.text) for e in edits)
        covered = any(e.start <= self.edit.start and e.end >= self.edit.end for e in moved)
        return moved if covered or not moved else (self.edit, *moved)

    def references(self, message: str, found: Sequence[Reference]) -> tuple[Reference, ...]:
        """References of the mended text as references of the original."""
        places = [(self.original(r.start), self.original(r.end)) for r in found]
        return tuple(
            replace(r, text=message[a:b], start=a, end=b)
            for r, (a, b) in zip(found, places, strict=True)
        )


def mended(message: str) -> Mended | None:
    """The message with its opener spelt right; None when it is, or when it is unclear.

    >>> mended("waht about Windows?").text, mended("and hwo long?"), mended("who pays?")
    ('what about Windows?', None, None)
    """
    match = _OPENER.match(message)
    if match is None:
        return None
    word = match["word"]
    follows = message[match.end() :].split(maxsplit=1)[0].lower()
    meant = _meant(word.lower(), follows)
    if not meant:
        return None
    spelt = meant.capitalize() if word[0].isupper() else meant
    start, end = match.span("word")
    return Mended(message[:start] + spelt + message[end:], Edit(start, end, spelt))


def _meant(word: str, follows: str) -> str:
    if word in _OPENERS or word.rstrip("s") in _OPENERS or readings(word).known:
        return ""
    near = [opener for opener in _OPENERS if _one_slip(word, opener)]
    if len(near) > 1 and "how" in near and follows in _HOW:
        return "how"
    swapped = [opener for opener in near if sorted(opener) == sorted(word)]
    best = swapped or near
    return best[0] if len(best) == 1 else ""


def _one_slip(word: str, meant: str) -> bool:
    """True at an edit distance of one, two swapped neighbours counted as one edit."""
    a, b = sorted((word, meant), key=len)
    if len(b) - len(a) > 1:
        return False
    i = next((i for i in range(len(a)) if a[i] != b[i]), len(a))
    if len(a) < len(b):
        return a[i:] == b[i + 1 :]
    swapped = a[i : i + 2] == b[i : i + 2][::-1] and a[i + 2 :] == b[i + 2 :]
    return a[i + 1 :] == b[i + 1 :] or swapped
