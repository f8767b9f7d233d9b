"""Headings by the size of their type, where a PDF sets them larger than its text."""

import math
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

LARGER: Final = 1.15
"""A heading's size, as a multiple of that of the text: 11.5 to 10 points is the least that is
set to be seen."""

SAME: Final = 0.03
"""Sizes this near to each other are one: matrices are rounded in files."""

MOST_CHARS: Final = 120
MOST_SHARE: Final = 0.3
"""Of all signs that may be in headings; more, and large type is how the document is set."""

DEEPEST: Final = 4

Place = tuple[int | None, str]
"""A page (from 1) and what a line of it says, with single spaces."""

See = Callable[[str, Sequence[float], Sequence[float], Any, float], None]


@dataclass(frozen=True, slots=True)
class _Set:
    """A line as it was set."""

    place: Place
    size: float


class TypeSizes:
    """Is shown the texts of pages as they are read, and then says which lines are headings."""

    def __init__(self) -> None:
        self._lines: list[_Set] = []
        self._chars: Counter[float] = Counter()

    def watch(self, page: int) -> tuple[See, Callable[[], None]]:
        """A visitor of a page's texts (pypdf's ``visitor_text``), and what ends the page."""
        said: list[str] = []
        sizes: Counter[float] = Counter()

        def end_line() -> None:
            if text := " ".join("".join(said).split()):
                self._add(_Set((page, text), max(sizes, key=lambda one: sizes[one])), len(text))
            said.clear()
            sizes.clear()

        def see(text: str, cm: Sequence[float], tm: Sequence[float], _: Any, size: float) -> None:
            effective = round(abs(size) * _scale(tm) * _scale(cm), 2)
            for number, piece in enumerate(text.split("\n")):
                if number:
                    end_line()
                if piece.strip():
                    sizes[effective] += len(piece)
                said.append(piece)

        return see, end_line

    def levels(self) -> Mapping[Place, int]:
        """The lines that are set as headings, each with its level, from 1 for the largest."""
        if not self._lines:
            return {}
        body = max(self._chars, key=lambda one: self._chars[one])
        large = [one for one in self._lines if one.size >= body * LARGER and _may_be(one.place[1])]
        if sum(len(one.place[1]) for one in large) > MOST_SHARE * self._chars.total():
            return {}
        ranks = _ranks({one.size for one in large})
        return {one.place: ranks[one.size] for one in large}

    def _add(self, line: _Set, chars: int) -> None:
        self._lines.append(line)
        self._chars[line.size] += chars


def _may_be(text: str) -> bool:
    return len(text) <= MOST_CHARS and any(sign.isalpha() for sign in text)


def _ranks(sizes: set[float]) -> dict[float, int]:
    """The level of each size; those that are nearly the same share one.

    >>> _ranks({24.0, 23.9, 16.0, 12.0})
    {24.0: 1, 23.9: 1, 16.0: 2, 12.0: 3}
    """
    ranks: dict[float, int] = {}
    level, last = 0, math.inf
    for size in sorted(sizes, reverse=True):
        if size < last * (1 - SAME):
            level, last = min(level + 1, DEEPEST), size
        ranks[size] = level
    return ranks


def _scale(matrix: Sequence[float]) -> float:
    """How much taller a matrix of a PDF makes what it is applied to."""
    return math.hypot(matrix[2], matrix[3])
