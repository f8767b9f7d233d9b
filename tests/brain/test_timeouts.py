"""Foreign code is waited for exactly as long as agreed."""

import threading
from collections.abc import Iterator

import pytest

from kds.brain.timeouts import Deadline

from ..effort import PATIENCE_S


@pytest.fixture
def hanging() -> Iterator[threading.Event]:
    """An event that nobody sets while the test runs."""
    event = threading.Event()
    yield event
    event.set()


def test_a_slow_reader_gets_items_that_arrived_in_time() -> None:
    now = [0.0]
    before = set(threading.enumerate())
    values = Deadline(10, clock=lambda: now[0]).each(lambda: [1, 2, 3])
    assert next(values) == 1
    for thread in set(threading.enumerate()) - before:
        thread.join(PATIENCE_S)
    now[0] = 60.0
    assert list(values) == [2, 3]


def test_a_reader_that_leaves_stops_the_source(hanging: threading.Event) -> None:
    closed = threading.Event()

    def source() -> Iterator[int]:
        try:
            while not hanging.wait(0.005):
                yield 1
        finally:
            closed.set()

    values = Deadline(PATIENCE_S).each(source)
    assert next(values) == 1
    values.close()  # type: ignore[attr-defined]  # a generator
    assert closed.wait(PATIENCE_S)
