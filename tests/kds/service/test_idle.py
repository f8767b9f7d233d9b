"""The end of a service that nobody asks, on a clock of our own."""

import asyncio
from collections.abc import MutableMapping
from typing import Any

from kds.service.layers import Attendance, Attended


class Time:
    """A clock that only moves when somebody sleeps on it, and what to do meanwhile."""

    def __init__(self) -> None:
        self.now = 1_000.0
        self.slept: list[float] = []
        self.events: list[Any] = []

    def __call__(self) -> float:
        return self.now

    async def sleep(self, seconds: float) -> None:
        self.slept.append(seconds)
        if self.events:
            after, event = self.events.pop(0)
            self.now += after
            event()
            seconds -= after
        self.now += seconds


def test_it_ends_after_the_time_without_a_request() -> None:
    time = Time()
    asyncio.run(Attendance(clock=time).wait_idle(1_800, sleep=time.sleep))
    assert (time.now, time.slept) == (2_800, [1_800])


def test_a_request_begins_the_time_anew() -> None:
    time = Time()
    attendance = Attendance(clock=time)

    def request() -> None:
        attendance.enter()
        attendance.leave()

    time.events = [(1_000, request)]
    asyncio.run(attendance.wait_idle(1_800, sleep=time.sleep))
    assert (time.now, time.slept) == (3_800, [1_800, 1_000])


def test_while_a_request_is_answered_nobody_is_idle() -> None:
    time = Time()
    attendance = Attendance(clock=time)
    attendance.enter()
    time.now += 10_000
    assert attendance.idle_s() == 0
    attendance.leave()
    assert attendance.idle_s() == 0
    time.now += 5
    assert attendance.idle_s() == 5


def ask(attendance: Attendance, path: str, *, fail: bool = False) -> list[float]:
    """Send a request through the layer; how idle it was inside."""
    inside: list[float] = []

    async def app(scope: MutableMapping[str, Any], receive: Any, send: Any) -> None:
        inside.append(attendance.idle_s())
        if fail:
            raise ValueError(path)

    layer = Attended(app, attendance)
    try:
        asyncio.run(layer({"type": "http", "path": path}, None, None))  # type: ignore[arg-type]
    except ValueError:
        assert fail
    return inside


def test_looking_at_the_health_is_not_a_request() -> None:
    time = Time()
    attendance = Attendance(clock=time)
    time.now += 60
    assert ask(attendance, "/healthz") == [60]
    assert attendance.idle_s() == 60


def test_every_other_path_is_one_even_when_it_fails() -> None:
    time = Time()
    attendance = Attendance(clock=time)
    time.now += 60
    assert ask(attendance, "/route", fail=True) == [0]
    assert attendance.idle_s() == 0
