"""Whether a regular expression can hang: exponential backtracking, found by trying it.

Each repeated group is tried on short hostile strings. That takes work, and a project may bring
hundreds of patterns along that each take all they may: so those of one start share a budget.
"""

import re
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from functools import lru_cache
from itertools import islice
from time import thread_time
from typing import Final

import regex

OPEN_LIMIT_S: Final = 1.0
"""CPU time that the checks of one start may take. Those of all patterns that ship take 0.3."""

MAX_REPEATED_ALTERNATIVES: Final = 100
"""Alternatives in a repeated group. The most that ship are 12."""

PROBE_BUDGET_S: Final = 0.004
"""CPU time after which a probe on a short string counts as slow. The slowest sane group that
ships needs 0.001."""

PROBE_LIMIT_S: Final = 0.05
"""Time at which `regex` stops one probe: nothing before it knows how long a probe takes."""

CHECK_LIMIT_S: Final = 1.0
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

_QUANTIFIER: Final = re.compile(r"[*+]|\{\d*,?\d*\}")
_budget: Final[ContextVar[list[float] | None]] = ContextVar("budget", default=None)
"""Seconds that are left of it: one number, in a list since checks take from it."""


class OutOfBudgetError(Exception):
    """The patterns before this one have used up what their start may take."""


@contextmanager
def one_budget() -> Iterator[None]:
    """Let all checks within share OPEN_LIMIT_S; within another such block they share its budget."""
    if _budget.get() is not None:
        yield
        return
    token = _budget.set([OPEN_LIMIT_S])
    try:
        yield
    finally:
        _budget.reset(token)


def slowness_within_budget(source: str) -> tuple[str, str] | None:
    """As `slowness`, at the expense of the budget. Raises OutOfBudgetError when that is used up."""
    budget = _budget.get()
    if budget is None:
        return slowness(source)
    if budget[0] <= 0:
        raise OutOfBudgetError
    started = thread_time()
    try:
        return slowness(source)
    finally:
        budget[0] -= thread_time() - started


def cut(text: str) -> str:
    """``text`` as a message quotes it."""
    return text if len(text) <= QUOTED else f"{text[: QUOTED - 1]}…"


@lru_cache(maxsize=4096)
def slowness(source: str) -> tuple[str, str] | None:
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
                ways = f"backtracks forever: {cut(group)!r} can match the same text in many ways"
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
