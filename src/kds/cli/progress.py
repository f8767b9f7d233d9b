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
    from rich.text import Text

SLOW_S: Final = 0.5
"""Shorter waits need no explanation: 1 s is noticed (Nielsen, Usability Engineering, 1993)."""

Item = TypeVar("Item")


@contextmanager
def slow(what: str) -> Iterator[Callable[[], None]]:
    """Say what is being done once the block has taken a while.

    The function that is yielded ends it early, when the first piece of an answer arrives.
    """
    with reported(what) as notice:
        yield notice.end


@contextmanager
def reported(what: str) -> Iterator["_Notice"]:
    """The same for work that tells what it does, how much is done, and of how much."""
    notice = _Notice(what)
    try:
        yield notice
    finally:
        notice.end()


def tracked(items: Iterable[Item], label: str) -> Iterator[Item]:
    """Yield ``items``, and show how far it has come."""
    known = tuple(items)
    with reported(label) as tell:
        for number, item in enumerate(known, start=1):
            yield item
            tell(label, number, len(known))


class _Notice:
    """A spinner and a text: shown by the thread of a timer, changed and ended by the worker."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._lock = Lock()
        self._status: Status | None = None
        self._timer = Timer(SLOW_S, self._show)
        self._timer.daemon = True
        if sys.stderr is not None and (sys.stderr.isatty() or "FORCE_COLOR" in os.environ):
            self._timer.start()

    def __call__(self, what: str, done: int, total: int) -> None:
        self._text = spelt(f"{what} {done:,}/{total:,}")  # may be the name of a file
        if self._status is not None:
            self._status.update(self._shown())

    def end(self) -> None:
        with self._lock:
            self._timer.cancel()
            if self._status is not None:
                self._status.stop()

    def _show(self) -> None:
        from rich.console import Console

        with self._lock:
            if not self._timer.finished.is_set():
                self._status = Console(file=drawn_on(sys.stderr)).status(self._shown())
                self._status.start()

    def _shown(self) -> "Text":
        from rich.text import Text  # as it is: in a string rich would read markup

        return Text(f"{self._text} ...")
