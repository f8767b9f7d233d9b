"""Foreign code is waited for exactly as long as agreed."""

import asyncio
import threading
import time
from collections.abc import Iterator
from contextvars import ContextVar

import pytest

from kds.agents import deadline as deadlines
from kds.agents.deadline import Deadline


@pytest.fixture
def hanging() -> Iterator[threading.Event]:
    """An event that nobody sets while the test runs."""
    event = threading.Event()
    yield event
    event.set()


def test_what_is_returned_and_raised_comes_through() -> None:
    assert Deadline(5).call(lambda: 3) == 3
    with pytest.raises(ZeroDivisionError):
        Deadline(5).call(lambda: 1 // 0)
    assert list(Deadline(5).each(lambda: range(3))) == [0, 1, 2]


def test_the_same_in_an_event_loop() -> None:
    async def all_of_it() -> list[int]:
        return [
            await Deadline(5).acall(lambda: 3),
            *[n async for n in Deadline(5).aeach(lambda: range(2))],
        ]

    assert asyncio.run(all_of_it()) == [3, 0, 1]

    async def failing() -> None:
        await Deadline(5).acall(lambda: 1 // 0)

    with pytest.raises(ZeroDivisionError):
        asyncio.run(failing())


def test_a_call_that_hangs_is_left_at_the_deadline(hanging: threading.Event) -> None:
    start = time.monotonic()
    with pytest.raises(TimeoutError):
        Deadline(0.1).call(hanging.wait)
    with pytest.raises(TimeoutError):
        asyncio.run(Deadline(0.1).acall(hanging.wait))
    assert time.monotonic() - start < 4


def test_a_trickle_without_end_is_left_at_the_deadline(hanging: threading.Event) -> None:
    def trickle() -> Iterator[int]:
        while not hanging.wait(0.005):
            yield 1

    got: list[int] = []
    start = time.monotonic()
    with pytest.raises(TimeoutError):
        got.extend(Deadline(0.1).each(trickle))
    assert got
    assert time.monotonic() - start < 4


def test_a_slow_reader_gets_what_came_in_time() -> None:
    now = [0.0]
    before = set(threading.enumerate())
    values = Deadline(10, clock=lambda: now[0]).each(lambda: [1, 2, 3])
    assert next(values) == 1
    for thread in set(threading.enumerate()) - before:
        thread.join(5)
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

    values = Deadline(30).each(source)
    assert next(values) == 1
    values.close()  # type: ignore[attr-defined]  # a generator
    assert closed.wait(5)


def test_context_variables_reach_the_thread() -> None:
    who: ContextVar[str] = ContextVar("who")
    who.set("me")
    assert Deadline(5).call(who.get) == "me"


def test_threads_that_never_end_are_not_made_without_limit(
    hanging: threading.Event, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(deadlines, "MOST_LEFT", 2)
    monkeypatch.setattr(deadlines, "_left", [])
    for _ in range(2):
        with pytest.raises(TimeoutError, match="time is up"):
            Deadline(0.01).call(hanging.wait)
    with pytest.raises(TimeoutError, match="2 earlier calls still hang"):
        Deadline(5).call(lambda: 3)
    hanging.set()
    for thread in deadlines._left:
        thread.join(5)
    assert Deadline(5).call(lambda: 3) == 3


def test_a_loop_that_is_closed_ends_the_thread(hanging: threading.Event) -> None:
    ended = threading.Event()

    def work() -> int:
        try:
            hanging.wait()
            return 1
        finally:
            ended.set()

    with pytest.raises(TimeoutError):
        asyncio.run(Deadline(0.05).acall(work))
    hanging.set()
    assert ended.wait(5)
