"""Regular expressions from files, compiled so that none of them can hang the router.

Every search has a time limit, and all searches of a turn share another one: a pattern that
backtracks for ever is left out of the turn, with a note that names its line.
"""

import re
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from functools import lru_cache
from math import prod
from re import _parser as sre  # type: ignore[attr-defined]  # as re.compile reads expressions
from typing import Any, Final

import regex

from kds.brain.errors import Problem

SEARCH_LIMIT_S: Final = 0.02
"""Wall time of one search. Ordinary ones take 1-5 microseconds on a ten-word message."""

TURN_LIMIT_S: Final = 1.0
"""What the searches of one turn may spend on running out of time: a project may bring thousands."""

HURRIED_LIMIT_S: Final = 0.001
"""Wall time of one search when that is used up: for ordinary ones it is as good as no limit."""

MAX_LENGTH: Final = 4_000
"""Characters of a pattern. The longest that ships has below 1,000."""

MAX_REPEATS: Final = 500_000
"""Product of the least counts of all `{n}` in a pattern: `regex` writes them out when it compiles,
so `(?:a{9999}){9999}` would take gigabytes."""

_QUOTED: Final = 200
"""Characters of a pattern that a message shows."""

_COUNT: Final = re.compile(r"(?<!\\)\{(\d+)(?:,\d*)?\}")
_CONTROL: Final = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f]")
_QUOTES: Final = 'put it in single quotes: in double ones YAML reads "\\b" as a backspace'
_left: Final[ContextVar[list[float] | None]] = ContextVar("left", default=None)
"""Seconds that are left to the turn: one number, in a list since searches take from it."""

_END_MARKS: Final = " \t\r\n.,;:!?…"
_APOSTROPHE: Final = "['\u2019]"


@dataclass(frozen=True, slots=True)
class Pattern:
    """A pattern that cannot hang. Case does not count.

    ``exact`` patterns must match the whole message; spaces around it and punctuation at its
    end do not count.
    """

    source: str
    where: str
    exact: bool
    _expression: str

    @classmethod
    def compile(
        cls, source: str, *, where: str, exact: bool = False, checked: bool = False
    ) -> "Pattern | Problem":
        """A regular expression (syntax of the `regex` package).

        Returns a Problem when it is invalid or too large. What was ``checked`` before is compiled
        when it is first used.
        """
        if checked:
            return cls(source, where, exact, source)
        if (unseen := control_problem(source, where)) is not None:
            return unseen
        if len(source) > MAX_LENGTH:
            message = f"a regex has {len(source)} characters, and at most {MAX_LENGTH} are accepted"
            return Problem(where, message, "make several patterns of it")
        shown = source if len(source) <= _QUOTED else f"{source[: _QUOTED - 1]}…"
        if prod(max(1, int(count[:9])) for count in _COUNT.findall(source)) > MAX_REPEATS:
            message = f"regex {shown!r} repeats too much: {MAX_REPEATS:,} times at most"
            return Problem(where, message, "repeat less, or with *")
        try:
            _compiled(source)
        except (regex.error, ValueError, RecursionError) as error:  # flags such as (?V1) clash
            message = f"invalid regex {shown!r}: {_reason(error)}"
            return Problem(where, message, "correct the regex, or use 'literal' for plain words")
        return cls(source, where, exact, source)

    @classmethod
    def literal(cls, source: str, *, where: str, exact: bool = False) -> "Pattern":
        """Match words as written: whole words, any case, any white space between them.

        >>> bool(Pattern.literal("where was i", where="x:1").search("So, where  was I?"))
        True
        >>> Pattern.literal("rate", where="x:1").search("generate it") is None
        True
        """
        words = r"\s+".join(_literal_word(word) for word in source.split())
        return cls(source, where, exact, rf"(?<!\w){words}(?!\w)")

    @property
    def groups(self) -> frozenset[str]:
        """The names of its groups."""
        return frozenset(_compiled(self._expression).groupindex)

    def search(self, text: str, *, notes: list[str] | None = None) -> "regex.Match[str] | None":
        """The first match in ``text``, or None. Running out of time is None and a line in notes."""
        if not _may_match(self._expression, text):
            return None
        expression, limit_s = _compiled(self._expression), _limit_s()
        try:
            if self.exact:
                start, end = _without_ends(text)
                return expression.fullmatch(text, start, end, timeout=limit_s)
            return expression.search(text, timeout=limit_s)
        except TimeoutError:
            if (left := _left.get()) is not None:
                left[0] -= limit_s
            if notes is not None:
                notes.append(f"pattern at {self.where} ran out of time and was left out")
            return None


@contextmanager
def one_turn() -> Iterator[None]:
    """Let all searches within share TURN_LIMIT_S."""
    token = _left.set([TURN_LIMIT_S])
    try:
        yield
    finally:
        _left.reset(token)


def _limit_s() -> float:
    left = _left.get()
    return SEARCH_LIMIT_S if left is None or left[0] > 0 else HURRIED_LIMIT_S


def control_problem(source: str, where: str) -> Problem | None:
    """What is wrong with a pattern that has a character nobody sees, and nobody types."""
    found = _CONTROL.search(source)
    if found is None:
        return None
    return Problem(where, f"a pattern has the control character {found[0]!r}", _QUOTES)


def _may_match(expression: str, text: str) -> bool:
    """Whether ``text`` has one of the literals of the expression, where it has any.

    Most patterns are about words that a message has not: they need neither a search nor to be
    compiled.
    """
    literals = literals_of(expression)
    if not literals or (low := _lowered(text)) is None:
        return True
    for literal in literals:  # noqa: SIM110  # a generator takes twice as long
        if literal in low:
            return True
    return False


@lru_cache(maxsize=64)
def _lowered(text: str) -> str | None:
    """A text in lower case; None where other letters may stand for those of ASCII ("K" for "k")."""
    return text.lower() if text.isascii() else None


LEAST_LITERAL: Final = 3
"""Characters of a literal: two letters are in every text."""

_UNREAD: Final = re.compile(r"\{[^\d,}]|\[\[|\\[NX]")
"""What `regex` reads otherwise than `re`, such as the fuzzy "{e<=1}"."""


@lru_cache(maxsize=4096)
def literals_of(expression: str) -> tuple[str, ...]:
    r"""Texts in lower case of which every match has one; empty where that cannot be told.

    >>> literals_of(r"\bwrong file\b|^(?:no|nope),? (?:undo|revert)\b")
    ('revert', 'undo', 'wrong file')
    >>> literals_of(r"tests?|\w+"), literals_of(r"(?:colou?r)+ed")
    ((), ('colo',))
    """
    try:
        parsed = [] if _UNREAD.search(expression) else sre.parse(expression)
    except (re.error, OverflowError, RecursionError):  # only `regex` can read it
        return ()
    return tuple(sorted(_literals(parsed)))


def _literals(parsed: Iterable[Any]) -> frozenset[str]:
    """The most telling literals of a sequence: the longest, then the fewest."""
    found, run = [frozenset[str]()], ""
    for operator, value in (*parsed, ("end", None)):
        name = str(operator)
        if name == "LITERAL" and value < 128:
            run += chr(value).lower()
            continue
        found.append(frozenset({run}))
        run = ""
        if name == "SUBPATTERN":
            found.append(_literals(value[-1]))
        elif name == "BRANCH":
            branches = [_literals(one) for one in value[1]]
            found.append(frozenset[str]().union(*branches) if all(branches) else frozenset())
        elif name == "ASSERT":
            found.append(_literals(value[1]))
        elif name in ("MAX_REPEAT", "MIN_REPEAT") and value[0] > 0:
            found.append(_literals(value[2]))
    told = [one for one in found if one and min(map(len, one)) >= LEAST_LITERAL]
    return max(told, key=lambda one: (min(map(len, one)), -len(one)), default=frozenset())


@lru_cache(maxsize=4096)
def _compiled(expression: str) -> "regex.Pattern[str]":
    return regex.compile(expression, regex.IGNORECASE | regex.VERSION0)


def _reason(error: Exception) -> str:
    """The library's words, with the position counted from 1 (its stub hides both)."""
    message, position = getattr(error, "msg", str(error)), getattr(error, "pos", None)
    return f"{message} at character {position + 1}" if position is not None else message


def _literal_word(word: str) -> str:
    parts = re.split(_APOSTROPHE, word)
    return _APOSTROPHE.join(regex.escape(part) for part in parts)


def _without_ends(text: str) -> tuple[int, int]:
    end = len(text.rstrip(_END_MARKS))
    return min(len(text) - len(text.lstrip()), end), end
