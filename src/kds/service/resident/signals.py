"""Signals that end a service in good order."""

import asyncio
import signal
import socket
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Final

ENDING: Final = ("SIGTERM", "SIGINT", "SIGHUP", "SIGBREAK")
"""Those that do, unless the service was started with them ignored (nohup)."""


@contextmanager
def ended_by_signals(stop: Callable[[str], object]) -> Iterator[None]:
    """Call ``stop`` with a signal's name; a second one of the same kind ends the process.

    For the main thread only.
    """
    numbers = [signal.Signals[name] for name in ENDING if hasattr(signal, name)]
    before = {number: signal.getsignal(number) for number in numbers}
    before = {n: handler for n, handler in before.items() if handler is not signal.SIG_IGN}

    def end(number: int, _: FrameType | None) -> None:
        signal.signal(number, before[signal.Signals(number)])
        stop(signal.Signals(number).name)

    for number in before:
        signal.signal(number, end)
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


@contextmanager
def woken_by_signals(loop: asyncio.AbstractEventLoop) -> Iterator[None]:
    """Have a signal wake the loop. One that comes just before the loop waits for events would else
    be heeded only at the next request. On Windows the loop sees to that itself."""
    if sys.platform == "win32":
        yield
        return
    ours, theirs = socket.socketpair()
    with ours, theirs:
        ours.setblocking(False)
        theirs.setblocking(False)
        loop.add_reader(ours, ours.recv, 1)
        before = signal.set_wakeup_fd(theirs.fileno(), warn_on_full_buffer=False)
        try:
            yield
        finally:
            signal.set_wakeup_fd(before)
            loop.remove_reader(ours)
