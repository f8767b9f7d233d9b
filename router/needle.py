"""What a text must hold for a pattern to match at all: a cheap look before the pattern is compiled.

Compiling the 290 patterns that ship takes half a second, searching with all of them a good part
of a turn; a message has the words of a few. Worked out when the package is made (`make model`),
with the parser of `re`; what that cannot read simply has no needles.
"""

import re
from collections.abc import Iterable, Sequence
from typing import Any, Final

LEAST: Final = 3
"""Characters of a needle at least: shorter ones are in nearly every message."""

MOST: Final = 40
"""Needles of a pattern at most: looking for more of them costs what searching does."""

Needles = frozenset[str]
"""Lower-case words, of which a text must hold at least one."""


def needles_of(source: str) -> Needles:
    r"""The needles of a regular expression whose case does not count; none when unknown.

    >>> sorted(needles_of(r"^(?:please )?(?:commit|push\s+it)\b"))
    ['commit', 'push']
    >>> needles_of(r"(?:commit)?\d+")
    frozenset()
    """
    parser = re._parser  # type: ignore[attr-defined]  # undocumented: used when packaging only
    try:
        tree = parser.parse(source, re.IGNORECASE)
    except re.error:  # `regex` understands more than `re`
        return frozenset()
    found = _required(list(tree))
    return found if found and len(found) <= MOST else frozenset()


def _required(items: Sequence[tuple[Any, Any]]) -> Needles:
    """The best needles of a sequence: all of its parts are needed, one of them will do."""
    found: list[Needles] = []
    run = ""
    for kind, value in items:
        name = str(kind)
        if name == "LITERAL" and chr(value).isascii() and chr(value).isalnum():
            run += chr(value).lower()
            continue
        found.append(_long_enough([run]))
        run = ""
        found.append(_of_part(name, value))
    found.append(_long_enough([run]))
    return max(found, key=_worth)


def _of_part(name: str, value: Any) -> Needles:
    if name == "SUBPATTERN":
        return _required(list(value[-1]))
    if name == "ATOMIC_GROUP":
        return _required(list(value))
    if name in ("MAX_REPEAT", "MIN_REPEAT", "POSSESSIVE_REPEAT") and value[0] >= 1:
        return _required(list(value[-1]))
    if name == "BRANCH":
        ways = [_required(list(way)) for way in value[1]]
        return frozenset().union(*ways) if all(ways) else frozenset()
    return frozenset()


def _long_enough(words: Iterable[str]) -> Needles:
    return frozenset(word for word in words if len(word) >= LEAST)


def _worth(needles: Needles) -> tuple[bool, int, int]:
    """Any are better than none, few better than many, long ones better than short ones."""
    return bool(needles), -len(needles), min(map(len, needles), default=0)
