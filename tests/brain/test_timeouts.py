"""Foreign code is waited for exactly as long as agreed."""

import threading
from collections.abc import Iterator

import pytest

from kds.brain.timeouts import CallError, Deadline, call_within

from ..effort import PATIENCE_S


@pytest.fixture
def hanging() -> Iterator[threading.Event]:
    """An event that nobody sets while the test runs."""
    event = threading.Event()
    yield event
    event.set()


def test_what_is_returned_and_raised_comes_through() -> None:
    assert Deadline(PATIENCE_S).call(lambda: 3) == 3
    with pytest.raises(ZeroDivisionError):
        Deadline(PATIENCE_S).call(lambda: 1 // 0)
    assert list(Deadline(PATIENCE_S).each(lambda: range(3))) == [0, 1, 2]


def test_an_error_of_a_call_says_what_it_was_and_has_a_cause_unless_time_was_up() -> None:
    assert call_within(lambda: 7, timeout_s=PATIENCE_S) == 7
    with pytest.raises(CallError, match="ZeroDivisionError: ") as failed:
        call_within(lambda: 1 // 0, timeout_s=PATIENCE_S)
    assert isinstance(failed.value.__cause__, ZeroDivisionError)
    never = threading.Event()
    with pytest.raises(CallError, match="no answer within") as late:
        call_within(never.wait, timeout_s=0.01)
    assert late.value.__cause__ is None
    never.set()


def test_a_trickle_without_end_is_left_when_time_is_up(hanging: threading.Event) -> None:
    now = [0.0]

    def trickle() -> Iterator[int]:
        while not hanging.wait(0.005):
            now[0] += 1
            yield 1

    got: list[int] = []
    with pytest.raises(TimeoutError):
        got.extend(Deadline(3, clock=lambda: now[0]).each(trickle))
    assert got


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
