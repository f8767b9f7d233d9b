"""What a text must hold for a pattern to match at all: a cheap look before the pattern is compiled.

Compiling the 290 patterns that ship takes half a second, searching with all of them a good part
of a turn; a message has the words of a few. Worked out when the package is made (`make model`),
with the parser of `re`; what that cannot read simply has no needles.
"""

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any, Final

LEAST: Final = 3
"""Characters of a needle at least: shorter ones are in nearly every message."""

MOST: Final = 40
"""Needles of a pattern at most: looking for more of them costs what searching does."""

NEEDLES: Final = Path(__file__).parent / "fitted" / "needles.json"

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


@lru_cache(maxsize=1)
def shipped_needles() -> Mapping[str, Sequence[str]]:
    """Expression -> words of which a text must hold one."""
    try:
        found: dict[str, list[str]] = json.loads(NEEDLES.read_bytes())
    except FileNotFoundError:  # a tree in which they are yet to be made: every pattern is tried
        return {}
    return found


@lru_cache(maxsize=1)
def _expressions() -> Mapping[str, Sequence[str]]:
    """Needle -> the expressions that a text with it may match; most needles serve several."""
    found: dict[str, list[str]] = {}
    for expression, needles in shipped_needles().items():
        for needle in needles:
            found.setdefault(needle, []).append(expression)
    return found


@lru_cache(maxsize=64)
def possible(text: str) -> frozenset[str]:
    """The expressions with needles that ``text`` may match: each needle is looked for once.

    The text is folded as `regex` does when case does not count; the dotless i alone does not fold.
    """
    folded = text.casefold().replace("\u0131", "i")
    return frozenset(
        expression
        for needle, expressions in _expressions().items()
        if needle in folded
        for expression in expressions
    )
