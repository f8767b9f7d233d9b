"""The progress bar of long work: on stderr, and only where that is a terminal."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from time import monotonic
from typing import Final, TypeVar

from rich.console import Console
from rich.progress import Progress

REDRAW_S: Final = 0.1

Item = TypeVar("Item")


def tracked(items: Sequence[Item], label: str) -> Iterator[Item]:
    """Yield ``items`` and show how far it has come.

    The bar is drawn between two items, not by a thread: what is timed is not disturbed.
    """
    console = Console(stderr=True)
    if not console.is_terminal:
        yield from items
        return
    with Progress(console=console, auto_refresh=False, transient=True) as bar:
        task = bar.add_task(label, total=len(items))
        drawn = 0.0
        for item in items:
            yield item
            bar.advance(task)
            if monotonic() - drawn >= REDRAW_S:
                bar.refresh()
                drawn = monotonic()


@contextmanager
def reported() -> Iterator[Callable[[str, int, int], None]]:
    """A bar for work that says itself what it does, how much is done, and of how much."""
    console = Console(stderr=True)
    if not console.is_terminal:
        yield lambda what, done, total: None
        return
    with Progress(console=console, auto_refresh=False, transient=True) as bar:
        task = bar.add_task("", total=None)

        def tell(what: str, done: int, total: int) -> None:
            bar.update(task, description=what, completed=done, total=total, refresh=True)

        yield tell
