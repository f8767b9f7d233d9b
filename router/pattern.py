"""Regular expressions from files, compiled so that none of them can hang the router.

Two guards: patterns whose repeats backtrack exponentially are refused when they load, and
every search, those of the check included, has a time limit, which also bounds the merely
slow ones on very long messages.
"""

import json
import re
from collections.abc import Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from functools import lru_cache
from itertools import islice
from pathlib import Path
from time import thread_time
from typing import Final

import regex

from kds.brain.errors import Problem
from kds.router.needle import NEEDLES, needles_of, possible, shipped_needles

SEARCH_LIMIT_S: Final = 0.02
"""Wall time of one search. Ordinary ones take 1-5 microseconds on a ten-word message."""

MAX_LENGTH: Final = 4_000
"""Characters of a pattern. The longest that ships has below 1,000."""

MAX_REPEATED_ALTERNATIVES: Final = 100
"""Alternatives in a repeated group. The most that ship are 12."""

PROBE_BUDGET_S: Final = 0.004
"""CPU time after which a probe on a short string counts as slow. The slowest sane group that
ships needs 0.001."""

PROBE_LIMIT_S: Final = 0.05
"""Time at which `regex` stops one probe: nothing before it knows how long a probe takes."""

CHECK_LIMIT_S: Final = 3.0
"""CPU time of all probes of one pattern. The slowest that ships needs 0.02, a cubic one 0.2."""

PROBE_REPEATS: Final = 26
"""Longest hostile string, in repeats. The slowest exponential seen grows as 1.6**n, (a|aa)+,
and is well above the budget here."""

PROBE_CHARS: Final = 36
"""Longest hostile string, in characters: long units are repeated fewer times, at least 4."""

PROBE_GROWTH: Final = 3.5
"""Slow and growing this much over three more repeats: exponential, at least 1.6**3. A cubic search
of the length at which it becomes slow grows by less than 1.5, one of degree six by 2.9."""

MEASURED: Final = 5
"""Times that a probe near the budget is measured: the least of them counts."""

QUOTED: Final = 200
"""Characters of a pattern that a message shows."""

_CONTROL: Final = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f]")
_QUOTES: Final = 'put it in single quotes: in double ones YAML reads "\\b" as a backspace'
_END_MARKS: Final = " \t\r\n.,;:!?…"
_QUANTIFIER: Final = re.compile(r"[*+]|\{\d*,?\d*\}")
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
        """A regular expression (syntax of the `regex` package), compiled when it is first used.

        Returns a Problem when it is invalid, too long, or when it backtracks exponentially. What
        was ``checked`` before is not checked again: that costs four times what compiling does.
        """
        if checked:
            return cls(source, where, exact, source)
        if (unseen := control_problem(source, where)) is not None:
            return unseen
        if len(source) > MAX_LENGTH:
            message = f"a regex has {len(source)} characters, and at most {MAX_LENGTH} are accepted"
            return Problem(where, message, "make several patterns of it")
        try:
            _compiled(source)
        except (regex.error, ValueError, RecursionError) as error:  # flags such as (?V1) clash
            message = f"invalid regex {_cut(source)!r}: {_reason(error)}"
            return Problem(where, message, "correct the regex, or use 'literal' for plain words")
        if (fault := _slowness(source)) is not None:
            return Problem(where, f"regex {_cut(source)!r} {fault[0]}", fault[1])
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

    def may_match(self, text: str) -> bool:
        """False only when ``text``, and so any part of it, cannot have a match."""
        return self._expression in possible(text) or self._expression not in shipped_needles()

    def search(self, text: str, *, notes: list[str] | None = None) -> "regex.Match[str] | None":
        """The first match in ``text``, or None. Running out of time is None and a line in notes."""
        if not self.may_match(text):
            return None
        expression = _compiled(self._expression)
        try:
            if self.exact:
                start, end = _without_ends(text)
                return expression.fullmatch(text, start, end, timeout=SEARCH_LIMIT_S)
            return expression.search(text, timeout=SEARCH_LIMIT_S)
        except TimeoutError:
            if notes is not None:
                notes.append(f"pattern at {self.where} ran out of time and was left out")
            return None


def control_problem(source: str, where: str) -> Problem | None:
    """What is wrong with a pattern that has a character nobody sees, and nobody types."""
    found = _CONTROL.search(source)
    if found is None:
        return None
    return Problem(where, f"a pattern has the control character {found[0]!r}", _QUOTES)


def write_needles(patterns: Iterable[Pattern], path: Path = NEEDLES) -> None:
    """Work out the needles of the patterns that ship, and write them where they ship from."""
    needles = {pattern._expression: sorted(needles_of(pattern._expression)) for pattern in patterns}
    kept = {expression: words for expression, words in sorted(needles.items()) if words}
    path.write_text(json.dumps(kept, indent=0, ensure_ascii=False) + "\n", encoding="utf-8")


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


@lru_cache(maxsize=4096)
def _slowness(source: str) -> tuple[str, str] | None:
    """What makes ``source`` too slow, as a message and a hint.

    Each repeated group is tried alone, made to fail at the end, on short hostile strings: what
    stands before it cannot hide it then. Exponential growth needs a repeat within a repeat or
    alternatives that overlap within one, so patterns without repeated groups are not tried.
    """
    ends = thread_time() + CHECK_LIMIT_S
    for group in _repeated_groups(source):
        if group.count("|") >= MAX_REPEATED_ALTERNATIVES:
            message = f"repeats a group of more than {MAX_REPEATED_ALTERNATIVES} alternatives"
            return message, r"repeat something simpler, such as \w+"
        for unit in _hostile_units(group):
            if _explodes(group, unit):
                ways = f"backtracks forever: {_cut(group)!r} can match the same text in many ways"
                return ways, r"let each repeat start with something fixed, such as (?:\s+\w+)*"
            if thread_time() > ends:
                return "is too slow: it repeats too much", "make several simpler patterns of it"
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
    probe = _probe(group)
    if probe is None:
        return False
    longest = min(PROBE_REPEATS, max(4, PROBE_CHARS // len(unit)))
    for count in range(1, longest + 1):
        spent_s = _cpu_s(probe, unit * count)
        if spent_s > PROBE_BUDGET_S:
            if _grows(probe, unit, count):
                return True
            # near the budget a busy machine can hide the growth: look once more, further on
            if spent_s > 4 * PROBE_BUDGET_S:
                return False
    return False


@lru_cache(maxsize=64)
def _probe(group: str) -> "regex.Pattern[str] | None":
    """The group, made to fail behind its end. None when it cannot stand alone.

    `regex` remembers where a repeat has failed, which hides most exponential repeats from a
    probe, and brings them back with a small change of the pattern. It does not while it may
    also change one character (`s<=1`), so probes ask for that.
    """
    try:
        return regex.compile(rf"(?:(?:{group})(?!)){{s<=1}}", regex.IGNORECASE | regex.VERSION0)
    except regex.error:
        return None


def _grows(probe: "regex.Pattern[str]", unit: str, count: int) -> bool:
    """Measure again, so that a pause of the machine does not condemn a pattern.

    What others do on the machine adds to a measurement and never takes away: the least counts.
    """
    longer = min(_cpu_s(probe, unit * count) for _ in range(MEASURED))
    if longer <= PROBE_BUDGET_S or count <= 3:
        return longer > 0.8 * PROBE_LIMIT_S
    shorter = min(_cpu_s(probe, unit * (count - 3)) for _ in range(MEASURED))
    return longer > PROBE_GROWTH * shorter


def _cpu_s(probe: "regex.Pattern[str]", text: str) -> float:
    """CPU time of one probe, at most about PROBE_LIMIT_S."""
    started = thread_time()
    with suppress(TimeoutError):
        probe.match(text, timeout=PROBE_LIMIT_S)
    return thread_time() - started


def _cut(text: str) -> str:
    """``text`` as a message quotes it."""
    return text if len(text) <= QUOTED else f"{text[: QUOTED - 1]}…"
