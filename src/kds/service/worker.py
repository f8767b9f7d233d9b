"""The one thread that routes: turns of a conversation stay in order, the event loop stays free.

Routing is CPU-bound under the interpreter's lock, so more threads would be no faster. There are
two queues: a hook holds a person's prompt up, and goes first; a query waits for what is urgent.
One that has waited long goes between two urgent calls.
"""

import asyncio
import time
from collections import deque
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Final, TypeVar

from kds.service.errors import BusyError

QUEUE_LIMIT: Final = 256
"""Calls that may wait in either queue: the last one waits 2-4 s, longer than a hook does."""

LONG_S: Final = 1.0
"""Seconds that a query waits for what is urgent. Without such a limit, 200 clients who never pause
had one in a hundred wait for 43 s."""

_Result = TypeVar("_Result")
_Turn = tuple[asyncio.Future[None], float]
"""Is set when a call may begin; and when it was asked for."""


class Worker:
    """Runs calls one after the other, off the event loop, which alone uses it."""

    def __init__(self, *, limit: int = QUEUE_LIMIT, name: str = "kds-router") -> None:
        self._limit = limit
        self._pool = ThreadPoolExecutor(1, thread_name_prefix=name)
        self._urgent: deque[_Turn] = deque()
        self._patient: deque[_Turn] = deque()
        self._was_urgent = False
        self._running = False
        self._closed = False

    async def run(self, call: Callable[[], _Result], *, patient: bool = False) -> _Result:
        """Run ``call`` when its turn comes; ``patient``: only while nothing urgent waits.

        Calls of one kind keep their order. Raises BusyError, and whatever ``call`` raises.
        """
        queue = self._patient if patient else self._urgent
        if self._closed:
            raise BusyError("the service is stopping", hint="start it again: kds service start")
        if len(queue) + self._running >= self._limit:
            raise BusyError(f"{self._limit} requests are waiting", hint="try again in a second")
        loop = asyncio.get_running_loop()
        turn = loop.create_future()
        queue.append((turn, time.monotonic()))
        if not self._running:
            self._pass_on()
        try:
            await turn
            return await loop.run_in_executor(self._pool, call)
        finally:  # a caller who left before its turn has none to pass on
            if not turn.cancelled():
                self._pass_on()

    @property
    def waiting(self) -> int:
        """How many calls wait or run."""
        return len(self._urgent) + len(self._patient) + self._running

    def close(self, *, wait: bool = True) -> None:
        """Take no more calls, and wait for the one that is running; from any thread."""
        self._closed = True
        self._pool.shutdown(wait=wait, cancel_futures=True)

    def _pass_on(self) -> None:
        """Let the next call begin, if one waits."""
        self._running = False
        while (self._urgent or self._patient) and not self._running:
            overdue = bool(self._patient) and time.monotonic() - self._patient[0][1] > LONG_S
            self._was_urgent = bool(self._urgent) and not (overdue and self._was_urgent)
            turn, _ = (self._urgent if self._was_urgent else self._patient).popleft()
            if not turn.done():
                turn.set_result(None)
                self._running = True


class Attendance:
    """Knows for how long there was no request, and whether one is being answered."""

    def __init__(self) -> None:
        self._last = time.monotonic()
        self._present = 0

    def __enter__(self) -> None:
        self._present += 1

    def __exit__(self, *_: object) -> None:
        self._present -= 1
        self._last = time.monotonic()

    def idle_s(self) -> float:
        """Seconds since the last request ended; 0 while one is being answered."""
        return 0.0 if self._present else time.monotonic() - self._last
