"""The work of a call, counted and not timed: the same on a busy machine as on an idle one.

`steps` counts what Python does. What C does is not in it (the search of one regular expression, a
parser): there `bounded` catches what has no end.
"""

import signal
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from types import FrameType
from typing import Any, Final

PATIENCE_S: Final = 120.0
"""Wall time after which a test no longer waits for another thread or process: these need a second
at most, and a machine with a load of ten has been seen to hold one for twenty."""

HANG_CPU_S: Final = 60.0
"""CPU time after which a call counts as endless. What is bounded by it takes below 2 s, and no load
of the machine makes CPU time thirty times as long."""

LINEAR: Final = 3.0
"""The most that `growth` may be: 1 when the work is in proportion to the length, twice that where
another way of reading begins with some length, but 8 when it is in proportion to the square."""

FURTHER: Final = 8
"""How many times as long the second input is whose work is counted."""


class EndlessError(AssertionError):
    """A call that had not ended by far after it should have."""


def steps(work: Callable[[], object]) -> int:
    """The lines of Python that run in ``work()``, and the functions of C that they call."""
    count = 0

    def line(_: FrameType, event: str, __: Any) -> Any:
        nonlocal count
        count += event == "line"
        return line

    def call(_: FrameType, event: str, __: Any) -> None:
        nonlocal count
        count += event == "c_call"

    traced, profiled = sys.gettrace(), sys.getprofile()
    sys.settrace(line)
    sys.setprofile(call)
    try:
        work()
    finally:
        sys.setprofile(profiled)
        sys.settrace(traced)
    return count


def growth(work: Callable[[int], object], length: int) -> float:
    """How much more each part of an input costs when the input is eight times as long."""
    work(length // 2)  # what is loaded or compiled once
    short, long = (steps(partial(work, times * length)) for times in (1, FURTHER))
    return long / (FURTHER * short)


@contextmanager
def bounded(what: str = "the call", *, cpu_s: float = HANG_CPU_S) -> Iterator[None]:
    """Raise EndlessError in the block when it has used ``cpu_s`` of the processor."""
    if threading.current_thread() is not threading.main_thread():
        raise RuntimeError("a signal ends it, and those come to the main thread alone")

    def ring(*_: object) -> None:
        raise EndlessError(f"{what} was not done after {cpu_s:g} s of CPU time")

    before = signal.signal(signal.SIGPROF, ring)
    signal.setitimer(signal.ITIMER_PROF, cpu_s)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.signal(signal.SIGPROF, before)
