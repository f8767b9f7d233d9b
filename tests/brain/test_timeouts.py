"""Foreign code is waited for exactly as long as agreed."""

import threading
from collections.abc import Iterator

import pytest

from kds.brain import timeouts
from kds.brain.timeouts import Deadline, leaving_time

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


def test_work_that_leaves_time_to_others_rests_as_long_as_agreed(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    now, rested = iter([10.0, 12.0]), []
    monkeypatch.setattr(timeouts.time, "monotonic", lambda: next(now))
    monkeypatch.setattr(timeouts.time, "sleep", rested.append)
    with leaving_time(0.5):
        pass
    assert rested == [1.0]
