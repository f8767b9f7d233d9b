"""Words and phrases as they are compared: stems, in order."""

import re
from collections.abc import Iterator
from typing import Final

from kds.brain.words.stem import stem

WORD: Final = re.compile(r"[^\W_]+")
"""What the index takes for a word."""

_POSSESSIVE: Final = re.compile(r"[’']s\b")


def stems(text: str) -> list[str]:
    """Return the stems of the words of a text, in order.

    >>> stems("The Servicer's Determination Dates")
    ['the', 'servic', 'determin', 'date']
    """
    return [stem(word) for word in WORD.findall(_POSSESSIVE.sub("", text).casefold())]


def phrase_key(text: str) -> str:
    """Return what every spelling of a phrase shares.

    >>> phrase_key("Cut-off Dates") == phrase_key("cut off date")
    True
    """
    return " ".join(stems(text))


def stem_line(text: str) -> str:
    """Return the stems of a text, each between blanks of its own: `said` counts in it.

    >>> stem_line("Closing Dates")
    ' close  date '
    """
    return "".join(f" {one} " for one in stems(text))


def stem_set(text: str) -> str:
    """Return the stems of a text as `stem_line` does, each once."""
    return "".join(f" {one} " for one in dict.fromkeys(stems(text)))


def seen_stems(text: str, also: str) -> str:
    """Return the stems of a text in order, and behind them those that only ``also`` has.

    >>> seen_stems("set page_size", "page size pagesize")
    ' set  page  size  pages '
    """
    line = stem_line(text)
    others = (one for one in dict.fromkeys(stems(also)) if f" {one} " not in line)
    return line + "".join(f" {one} " for one in others)


def said(line: str, word: str) -> int:
    """Count how often a stem is in a line of stems."""
    return line.count(f" {word} ")


def has_phrase(line: str, key: str) -> bool:
    """Tell whether a phrase is in a line of stems.

    >>> has_phrase(stem_line("on each Closing Date"), phrase_key("closing dates"))
    True
    """
    return f" {key.replace(' ', '  ')} " in line


def runs(words: list[str], longest: int) -> Iterator[tuple[int, int]]:
    """Yield the start and end of every run of words, the longest first.

    >>> list(runs(["a", "b"], 2))
    [(0, 2), (0, 1), (1, 2)]
    """
    for length in range(min(longest, len(words)), 0, -1):
        for start in range(len(words) - length + 1):
            yield start, start + length
