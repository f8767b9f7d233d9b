"""Progress of longer work: a line with a spinner on a terminal's stderr, nothing in a pipe."""

import os
import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from threading import Lock, Timer
from typing import TYPE_CHECKING, Final, TypeVar

from kds.cli.terminal import drawn_on, spelt

if TYPE_CHECKING:  # 50 ms of imports: only a terminal that waits for something pays
    from rich.status import Status

SLOW_S: Final = 0.5
"""Shorter waits need no explanation: 1 s is noticed (Nielsen, Usability Engineering, 1993)."""

Item = TypeVar("Item")


@contextmanager
def slow(what: str) -> Iterator[Callable[[], None]]:
    """Say what is being done once the block has taken a while.

    The function that is yielded ends it early, when the first piece of an answer arrives.
    """
    with _noticed(what) as notice:
        yield notice.end


@contextmanager
def reported(what: str) -> Iterator[Callable[[str, int, int], None]]:
    """The same for work that reports what it does, how much is done, and of how much."""
    with _noticed(what) as notice:
        yield lambda what, done, total: notice.say(f"{what} {done:,}/{total:,}")


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
    """A spinner and a text: shown by the thread of a timer, changed and ended by the worker."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._lock = Lock()
        self._over = False
        self._status: Status | None = None

    def show(self) -> None:
        from rich.console import Console
        from rich.markup import escape

        with self._lock:
            if not self._over:
                console = Console(file=drawn_on(sys.stderr))
                self._status = console.status(escape(f"{self._text} ..."))
                self._status.start()

    def say(self, text: str) -> None:
        self._text = spelt(text)  # may be the name of a file
        if self._status is not None:
            from rich.markup import escape

            self._status.update(escape(f"{self._text} ..."))

    def end(self) -> None:
        with self._lock:
            self._over = True
            if self._status is not None:
                self._status.stop()


@contextmanager
def _noticed(what: str) -> Iterator[_Notice]:
    notice = _Notice(what)
    drawn = sys.stderr is not None and (sys.stderr.isatty() or "FORCE_COLOR" in os.environ)
    timer = Timer(SLOW_S, notice.show)
    timer.daemon = True
    if drawn:
        timer.start()
    try:
        yield notice
    finally:
        timer.cancel()
        notice.end()
