"""Foreign code is waited for exactly as long as agreed."""

import asyncio
import threading
from collections.abc import Iterator
from contextvars import ContextVar

import pytest

from kds.agents import deadline as deadlines
from kds.agents.deadline import Deadline

from ..effort import PATIENCE_S  # noqa: TID252  # one way of waiting for all


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


def test_the_same_in_an_event_loop() -> None:
    async def all_of_it() -> list[int]:
        return [
            await Deadline(PATIENCE_S).acall(lambda: 3),
            *[n async for n in Deadline(PATIENCE_S).aeach(lambda: range(2))],
        ]

    assert asyncio.run(all_of_it()) == [3, 0, 1]

    async def failing() -> None:
        await Deadline(PATIENCE_S).acall(lambda: 1 // 0)

    with pytest.raises(ZeroDivisionError):
        asyncio.run(failing())


def test_a_call_that_hangs_is_left_at_the_deadline(hanging: threading.Event) -> None:
    with pytest.raises(TimeoutError):
        Deadline(0.1).call(hanging.wait)
    with pytest.raises(TimeoutError):
        asyncio.run(Deadline(0.1).acall(hanging.wait))


def test_a_trickle_without_end_is_left_at_the_deadline(hanging: threading.Event) -> None:
    now = [0.0]

    def trickle() -> Iterator[int]:
        while not hanging.wait(0.005):
            now[0] += 1
            yield 1

    got: list[int] = []
    with pytest.raises(TimeoutError):
        got.extend(Deadline(3, clock=lambda: now[0]).each(trickle))
    assert got


def test_a_slow_reader_gets_what_came_in_time() -> None:
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


def test_context_variables_reach_the_thread() -> None:
    who: ContextVar[str] = ContextVar("who")
    who.set("me")
    assert Deadline(PATIENCE_S).call(who.get) == "me"


def test_threads_that_never_end_are_not_made_without_limit(
    hanging: threading.Event, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(deadlines, "MOST_LEFT", 2)
    monkeypatch.setattr(deadlines, "_left", [])
    begun: list[int] = []

    def hang() -> None:
        begun.append(1)
        hanging.wait()

    while len(begun) < 2:  # on a busy machine the time may be up before the thread runs
        with pytest.raises(TimeoutError):
            Deadline(0.05).call(hang)
    with pytest.raises(TimeoutError, match="2 earlier calls still hang"):
        Deadline(PATIENCE_S).call(lambda: 3)
    hanging.set()
    for thread in deadlines._left:
        thread.join(PATIENCE_S)
    assert Deadline(PATIENCE_S).call(lambda: 3) == 3


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
    assert ended.wait(PATIENCE_S)
