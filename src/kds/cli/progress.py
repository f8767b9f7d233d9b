"""What takes longer says so, on stderr: a line in a pipe, a spinner or a bar on a terminal."""

import os
import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from threading import Lock, Timer
from time import monotonic
from typing import TYPE_CHECKING, Final, TypeVar

import click

from kds.brain.environment import switch
from kds.cli.palette import asked_plain
from kds.cli.terminal import drawn_on, spelt

if TYPE_CHECKING:  # 50 ms of imports: only who waits for something pays
    from rich.console import Console
    from rich.progress import Progress
    from rich.status import Status

SLOW_S: Final = 0.5
"""What is done by then needs no explanation: below a second nobody wonders what is going on
(Nielsen, Usability Engineering, 1993: 0.1 s feels immediate, 1 s is noticed)."""

REDRAW_S: Final = 0.1

VARIABLE: Final = "KDS_PROGRESS"

Item = TypeVar("Item")


@contextmanager
def slow(what: str) -> Iterator[Callable[[], None]]:
    """Say what is being done, once the block has taken a while; nothing when it is quick.

    What is yielded ends that before the block does: when the first piece of an answer is there.
    """
    if not wanted():
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


def tracked(items: Iterable[Item], label: str, *, count: int | None = None) -> Iterator[Item]:
    """Yield ``items``, of which there are ``count``, and show how far it has come.

    The bar is drawn between two items, not by a thread: what is timed is not disturbed.
    """
    if count is None:
        items = tuple(items)
        count = len(items)
    if not _draws():
        with slow(f"{label} {count:,}"):
            yield from items
        return
    with _bar() as bar:
        task = bar.add_task(label, total=count)
        drawn = 0.0
        for item in items:
            yield item
            bar.advance(task)
            if monotonic() - drawn >= REDRAW_S:
                bar.refresh()
                drawn = monotonic()


@contextmanager
def reported(what: str) -> Iterator[Callable[[str, int, int], None]]:
    """A bar for work that says itself what it does, how much is done, and of how much."""
    if not _draws():
        with slow(what):
            yield lambda what, done, total: None
        return
    from rich.markup import escape

    with _bar() as bar:
        task = bar.add_task(what, total=None)

        def tell(what: str, done: int, total: int) -> None:
            said = escape(spelt(what))  # the name of a file, perhaps
            bar.update(task, description=said, completed=done, total=total, refresh=True)

        yield tell


def wanted() -> bool:
    """Whether anything is to be shown: unless KDS_PROGRESS is off."""
    return switch(VARIABLE) is not False and sys.stderr is not None


class _Notice:
    """The line, or the spinner; shown by a timer's thread, ended by the one that works."""

    def __init__(self, what: str) -> None:
        self._what = what
        self._may_draw = _may_draw()  # of a context that the timer's thread does not have
        self._lock = Lock()
        self._over = False
        self._status: Status | None = None

    def show(self) -> None:
        with self._lock:
            if self._over:
                return
            if not (self._may_draw and _console().is_terminal):
                click.echo(f"kds: {self._what} ...", err=True)
                return
            self._status = _console().status(f"{self._what} ...")
            self._status.start()

    def end(self) -> None:
        with self._lock:
            self._over = True
            if self._status is not None:
                self._status.stop()
                self._status = None


def _draws() -> bool:
    """Whether there is a terminal to draw on, which rich looks at closer."""
    return _may_draw() and _console().is_terminal


def _may_draw() -> bool:
    """Whether it is worth asking rich: 50 ms of imports."""
    return wanted() and not asked_plain() and (sys.stderr.isatty() or "FORCE_COLOR" in os.environ)


def _bar() -> "Progress":
    from rich.progress import Progress

    return Progress(console=_console(), auto_refresh=False, transient=True)


def _console() -> "Console":
    from rich.console import Console

    return Console(file=drawn_on(sys.stderr))
