"""Acronyms that a text spells out: "Time to Live (TTL)"."""

import re
from collections.abc import Iterator, Sequence
from typing import Final

_ACRONYM: Final = re.compile(r"(?<=\s)\((?P<short>[A-Z][A-Za-z]{1,7})\)")

_SPELLED_OUT: Final = 7
"""Words that an acronym may stand for."""

_BEFORE_ACRONYM: Final = 160
"""Characters in which they are looked for."""


def spelled_out(text: str) -> Iterator[tuple[str, ...]]:
    """Yield the words and the letters of each acronym in brackets behind its words.

    >>> list(spelled_out("the Time to Live (TTL) of (ABC)"))
    [('Time to Live', 'TTL')]
    """
    for found in _ACRONYM.finditer(text):
        before = text[max(found.start() - _BEFORE_ACRONYM, 0) : found.start()]
        if names := _names(list(_words_before(before)), found["short"]):
            yield names


def _words_before(text: str) -> Iterator[str]:
    """Yield the words at the end of a text, up to the first sign between them, in order.

    >>> list(_words_before("it is (the time to live "))
    ['the', 'time', 'to', 'live']
    """
    found: list[str] = []
    for word in reversed(text.split()[-_SPELLED_OUT:]):
        if not _is_word(word):
            # What is left of a word behind a sign: "(the".
            own = re.split(r"[^\w-]", word)[-1].lstrip("0123456789_-")
            found += [own] if _is_word(own) else []
            break
        found.append(word)
    yield from reversed(found)


def _is_word(text: str) -> bool:
    return re.fullmatch(r"[A-Za-z][\w-]*", text) is not None


def _names(words: Sequence[str], short: str) -> tuple[str, ...]:
    """Return both names of "Time to Live (TTL)"; the letters must be those of the words."""
    for count in range(2, len(words) + 1):
        initials = "".join(word[:1] for word in re.split(r"[\s-]+", " ".join(words[-count:])))
        capitals = "".join(word[0] for word in words[-count:] if word[0].isupper())
        if short.rstrip("s").casefold() in (initials.casefold(), capitals.casefold()):
            return " ".join(words[-count:]), short
    return ()
