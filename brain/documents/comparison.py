"""Comparisons: which two things a question sets against each other."""

import re
from bisect import bisect_right
from typing import Final

from kds.brain.words.stems import EMPTY, stem, stems

LONGEST: Final = 1000
"""Characters in which two things are compared: more are a paste with a question in it."""

MANY_DIVIDERS: Final = 20
"""Places that may divide the two, the last ones."""

_DIVIDERS: Final = (
    re.compile(
        r"\s+(?:versus|vs\.?|compared\s+(?:to|with)|as\s+opposed\s+to|rather\s+than)\s+", re.I
    ),
    re.compile(r"\s*,?\s+or\s+", re.I),
    re.compile(r"\s+(?:than|from)\s+", re.I),
    re.compile(r"\s*,?\s+and\s+", re.I),
    re.compile(r"\s+(?:as|before|after|to|with)\s+", re.I),
)
"""What stands between the two things of a comparison, the surest first."""

_SIDE_BEGINS: Final = re.compile(
    r",|\b(?:between|both|either|neither|does|do|is|are|compare|than|first|earlier|later)\b", re.I
)
_COMPARES: Final = re.compile(
    r"\b(?:compar\w*|differen\w*|differs?|vs\.?|versus|\w+er\s+than|more\s+than|less\s+than|same"
    r"|similar\w*|both|either|between|longer|shorter|higher|lower|larger|bigger|smaller|earlier"
    r"|later|sooner|cheaper|faster|better|first|(?:comes?|falls?|goes)\s+(?:before|after|last)"
    r"|which\s+(?:one|of)|relate[sd]?|apart|distinguish\w*)\b",
    re.IGNORECASE,
)
MEASURES: Final = frozenset(
    map(
        stem,
        "come comes first last later earlier sooner longer shorter higher lower larger bigger "
        "smaller more less greater most least better compare compared comparison difference "
        "different differ same similar both either neither versus vs relate related".split(),
    )
)
"""Words that say how things are compared, not which."""


def compared_sides(text: str) -> tuple[frozenset[str], ...]:
    """Return what each side of a comparison has that the other has not; () for no comparison.

    >>> [sorted(side) for side in compared_sides("Is the Due Date or the Cut-off Date later?")]
    [['due'], ['cut']]
    """
    text = " ".join(text[:LONGEST].split())
    if _COMPARES.search(text) is None:
        return ()
    begins = [0, *(one.end() for one in _SIDE_BEGINS.finditer(text))]
    for pattern in _DIVIDERS:
        for found in list(pattern.finditer(text))[: -MANY_DIVIDERS - 1 : -1]:
            left, right = text[: found.start()], text[found.end() :]
            begin = begins[bisect_right(begins, found.start()) - 1]
            sides = [frozenset(stems(left[begin:])) - EMPTY, frozenset(stems(right)) - EMPTY]
            if not sides[0] and begin:
                sides[0] = frozenset(stems(left)) - EMPTY
            only = sides[0] - sides[1] - MEASURES, sides[1] - sides[0] - MEASURES
            if all(only):
                return only
    return ()
