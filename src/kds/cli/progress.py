"""Progress of longer work: a spinner or a bar on a terminal's stderr, nothing in a pipe."""

import os
import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from threading import Lock, Timer
from time import monotonic
from typing import TYPE_CHECKING, Final, TypeVar

from kds.cli.terminal import drawn_on, spelt

if TYPE_CHECKING:  # 50 ms of imports: only a terminal that waits for something pays
    from rich.console import Console
    from rich.status import Status

SLOW_S: Final = 0.5
"""Shorter waits need no explanation: 1 s is noticed (Nielsen, Usability Engineering, 1993)."""

REDRAW_S: Final = 0.1

Item = TypeVar("Item")


@contextmanager
def slow(what: str) -> Iterator[Callable[[], None]]:
    """Show a spinner once the block has taken a while.

    The function that is yielded ends it early, when the first piece of an answer arrives.
    """
    if not _may_draw():
        yield lambda: None
        return
    notice = _Notice(what)
    timer = Timer(SLOW_S, notice.show)
    timer.daemon = True
    timer.start()

    def end() -> None:
        timer.cancel()
        notice.end()

    try:
        yield end
    finally:
        end()


@contextmanager
def reported(what: str) -> Iterator[Callable[[str, int, int], None]]:
    """A bar for work that reports what it does, how much is done, and of how much.

    It is drawn by the reports, not by a thread: what is timed is not disturbed.
    """
    if not _may_draw():
        yield lambda what, done, total: None
        return
    from rich.markup import escape
    from rich.progress import Progress

    with Progress(console=_console(), auto_refresh=False, transient=True) as bar:
        task, drawn = bar.add_task(what, total=None), 0.0

        def tell(what: str, done: int, total: int) -> None:
            nonlocal drawn
            due = monotonic() - drawn >= REDRAW_S
            drawn = monotonic() if due else drawn
            said = escape(spelt(what))  # may be the name of a file
            bar.update(task, description=said, completed=done, total=total, refresh=due)

        yield tell


def tracked(items: Iterable[Item], label: str, *, count: int | None = None) -> Iterator[Item]:
    """Yield ``items``, of which there are ``count``, and show how far it has come."""
    if count is None:
        items = tuple(items)
        count = len(items)
    with reported(label) as tell:
        for number, item in enumerate(items, start=1):
            yield item
            tell(label, number, count)


class _Notice:
    """A spinner: shown by the thread of a timer, ended by the one that works."""

    def __init__(self, what: str) -> None:
        self._what = what
        self._lock = Lock()
        self._over = False
        self._status: Status | None = None

    def show(self) -> None:
        with self._lock:
            if not self._over:
                self._status = _console().status(f"{self._what} ...")
                self._status.start()

    def end(self) -> None:
        with self._lock:
            self._over = True
            if self._status is not None:
                self._status.stop()


def _may_draw() -> bool:
    return sys.stderr is not None and (sys.stderr.isatty() or "FORCE_COLOR" in os.environ)


def _console() -> "Console":
    from rich.console import Console

    return Console(file=drawn_on(sys.stderr))
