"""Foreign code is waited for exactly as long as agreed."""

import threading
from collections.abc import Iterator

from kds.brain.timeouts import Deadline

from ..effort import PATIENCE_S


def test_a_reader_that_leaves_stops_the_source() -> None:
    pause, closed = threading.Event(), threading.Event()

    def source() -> Iterator[int]:
        try:
            while not pause.wait(0.005):
                yield 1
        finally:
            closed.set()

    values = Deadline(PATIENCE_S).each(source)
    assert next(values) == 1
    values.close()
    assert closed.wait(PATIENCE_S)
