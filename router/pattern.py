"""Regular expressions from files, compiled so that none of them can hang the router.

Two guards: patterns whose repeats backtrack exponentially are refused when they load, and
every search has a time limit, which also bounds the merely slow ones on very long messages.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import islice
from time import process_time
from typing import Final

import regex

from kds.brain.errors import Problem

SEARCH_LIMIT_S: Final = 0.02
"""Wall time of one search. Ordinary ones take 1-5 microseconds on a ten-word message."""

PROBE_BUDGET_S: Final = 0.004
"""CPU time after which a probe on a short string counts as slow: sane ones need microseconds."""

PROBE_REPEATS: Final = 26
"""Longest hostile string, in repeats. The slowest exponential seen grows as 1.6**n, (a|aa)+,
and is well above the budget here."""

PROBE_GROWTH: Final = 3.0
"""Slow and growing this much over three more repeats: exponential. A cubic search of the
length at which it becomes slow grows by less than 1.5."""

_END_MARKS: Final = " \t\r\n.,;:!?…"
_QUANTIFIER: Final = re.compile(r"[*+]|\{\d*,?\d*\}")
_APOSTROPHE: Final = "['\u2019]"


@dataclass(frozen=True, slots=True)
class Pattern:
    """A compiled pattern that cannot hang. Case does not count.

    ``exact`` patterns must match the whole message; spaces around it and punctuation at its
    end do not count.
    """

    source: str
    where: str
    exact: bool
    _compiled: "regex.Pattern[str]"

    @classmethod
    def compile(cls, source: str, *, where: str, exact: bool = False) -> "Pattern | Problem":
        """Compile a regular expression (syntax of the `regex` package).

        Returns a Problem when it is invalid or when it backtracks exponentially.
        """
        try:
            compiled = regex.compile(source, regex.IGNORECASE | regex.VERSION0)
        except regex.error as error:
            message = f"invalid regex {source!r}: {_reason(error)}"
            return Problem(where, message, "correct the regex, or use 'literal' for plain words")
        if (culprit := _exponential_part(source)) is not None:
            return Problem(
                where,
                f"regex {source!r} backtracks forever: {culprit!r} can match the same text "
                "in many ways",
                r"let each repeat start with something fixed, such as (?:\s+\w+)*",
            )
        return cls(source, where, exact, compiled)

    @classmethod
    def literal(cls, source: str, *, where: str, exact: bool = False) -> "Pattern":
        """Match words as written: whole words, any case, any white space between them.

        >>> bool(Pattern.literal("where was i", where="x:1").search("So, where  was I?"))
        True
        >>> Pattern.literal("rate", where="x:1").search("generate it") is None
        True
        """
        words = r"\s+".join(_literal_word(word) for word in source.split())
        compiled = regex.compile(rf"(?<!\w){words}(?!\w)", regex.IGNORECASE | regex.VERSION0)
        return cls(source, where, exact, compiled)

    @classmethod
    def any_of(cls, patterns: "Sequence[Pattern]") -> "Pattern | None":
        """One pattern that is found where any of ``patterns`` is, for a quick look beforehand.

        All must be exact, or none. None when they cannot be joined: capturing groups would
        change their numbers.
        """
        if not patterns or any(pattern._compiled.groups for pattern in patterns):
            return None
        source = "|".join(f"(?:{pattern._compiled.pattern})" for pattern in patterns)
        compiled = regex.compile(source, regex.IGNORECASE | regex.VERSION0)
        return cls(source, patterns[0].where, patterns[0].exact, compiled)

    def search(self, text: str, *, notes: list[str] | None = None) -> "regex.Match[str] | None":
        """The first match in ``text``, or None. Running out of time is None and a line in notes."""
        try:
            if self.exact:
                start, end = _without_ends(text)
                return self._compiled.fullmatch(text, start, end, timeout=SEARCH_LIMIT_S)
            return self._compiled.search(text, timeout=SEARCH_LIMIT_S)
        except TimeoutError:
            if notes is not None:
                notes.append(f"pattern at {self.where} ran out of time and was left out")
            return None


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


@lru_cache(maxsize=4096)
def _exponential_part(source: str) -> str | None:
    """The repeated group of ``source`` that can match one text in exponentially many ways.

    Each repeated group is tried alone, made to fail at the end, on short hostile strings: what
    stands before it cannot hide it then. Exponential growth needs a repeat within a repeat or
    alternatives that overlap within one, so patterns without repeated groups are not tried.
    """
    for group in _repeated_groups(source):
        if any(_explodes(group, unit) for unit in _hostile_units(group)):
            return group
    return None


def _repeated_groups(source: str) -> Iterator[str]:
    """Every ``(...)*``, ``(...)+`` and ``(...){n,}`` of a regex, the innermost first."""
    opened: list[int] = []
    in_class = False
    index = 0
    while index < len(source):
        char = source[index]
        if char == "\\":
            index += 1
        elif in_class:
            in_class = char != "]"
        elif char == "[":
            in_class = True
            # a bracket that closes right away stands for itself
            index += len(re.match(r"\^?\]?", source[index + 1 :])[0])  # type: ignore[index]  # matches ""
        elif char == "(":
            opened.append(index)
        elif char == ")" and opened:
            start = opened.pop()
            if quantifier := _QUANTIFIER.match(source, index + 1):
                yield source[start : index + 1] + quantifier[0]
        index += 1


def _hostile_units(group: str) -> list[str]:
    """Short texts that a repeat of ``group`` may take over and over."""
    plain = re.sub(r"\\.|\(\?[^)a-zA-Z]*", " ", group)
    words = list(dict.fromkeys(re.findall(r"\w+", plain)))
    units = ["a", "1", " ", "a ", "ab", "-", ".", "/", *words, *(f"{word} " for word in words)]
    units += [word[0] for word in words]
    return list(dict.fromkeys(islice(units, 40)))


def _explodes(group: str, unit: str) -> bool:
    try:
        probe = re.compile(rf"(?:{group})\Z(?<!\0)\0", re.IGNORECASE)
    except re.error:  # syntax that only `regex` has, or a reference to an outer group
        return _times_out(group, unit)
    for count in range(1, PROBE_REPEATS + 1):
        spent_s = _cpu_s(probe, unit * count)
        if spent_s > PROBE_BUDGET_S and count > 3:
            if _grows(probe, unit, count):
                return True
            # near the budget a busy machine can hide the growth: look once more, further on
            if spent_s > 8 * PROBE_BUDGET_S:
                return False
    return _times_out(group, unit)


def _grows(probe: "re.Pattern[str]", unit: str, count: int) -> bool:
    """Measure again, so that a pause of the machine does not condemn a pattern."""
    shorter = min(_cpu_s(probe, unit * (count - 3)) for _ in range(3))
    longer = min(_cpu_s(probe, unit * count) for _ in range(2))
    return longer > PROBE_BUDGET_S and longer > PROBE_GROWTH * shorter


def _cpu_s(probe: "re.Pattern[str]", text: str) -> float:
    started = process_time()
    probe.match(text)
    return process_time() - started


def _times_out(group: str, unit: str) -> bool:
    try:
        probe = regex.compile(rf"(?:{group})\0", regex.IGNORECASE | regex.VERSION0)
        probe.match(unit * PROBE_REPEATS, timeout=10 * SEARCH_LIMIT_S)
    except regex.error:
        return False
    except TimeoutError:
        return True
    return False
