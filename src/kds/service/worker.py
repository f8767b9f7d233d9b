"""The one thread that routes: turns of a conversation stay in order, the event loop stays free.

One thread, not several: routing is CPU-bound under the interpreter's lock, so more of them
would be no faster, and two turns of one conversation could overtake each other.

There are two queues. A hook holds a person's prompt up, and goes first; a query waits for what
is urgent, so that two hundred of them cost a hook no more than the one that is running. One that
has waited long goes between two urgent calls: where these never end, it would never be its turn.
"""

import asyncio
import time
from collections import deque
from collections.abc import Callable
from concurrent.futures import Future
from threading import Condition, Thread
from typing import Any, Final, TypeVar

from kds.service.errors import BusyError

QUEUE_LIMIT: Final = 256
"""Calls that may wait in either queue. A turn takes 5-15 ms, so the last one waits 2-4 s: longer
than a hook waits, shorter than a command line does."""

LONG_S: Final = 1.0
"""Seconds that a query waits for what is urgent. With 200 clients who never pause, half of all
answers came after .6 s and one in a hundred after 43 s, before there was such a limit."""

_Result = TypeVar("_Result")
_Call = tuple[Callable[[], Any], Future[Any], float]
"""What to run, where its result goes, and when it was submitted."""


class Worker:
    """Runs calls one after the other, off the event loop it is used from."""

    def __init__(self, *, limit: int = QUEUE_LIMIT, name: str = "kds-router") -> None:
        self._limit = limit
        self._urgent: deque[_Call] = deque()
        self._patient: deque[_Call] = deque()
        self._was_urgent = False
        self._changed = Condition()
        self._closed = False
        self._running = 0
        self._name = name
        self._thread: Thread | None = None

    async def run(self, call: Callable[[], _Result], *, patient: bool = False) -> _Result:
        """Run ``call`` when its turn comes; ``patient``: only while nothing urgent waits.

        Calls of one kind keep their order. Raises BusyError, and whatever ``call`` raises.
        """
        return await asyncio.wrap_future(self.submit(call, patient=patient))

    def submit(self, call: Callable[[], _Result], *, patient: bool = False) -> Future[_Result]:
        """As `run`, for callers that do not wait."""
        future: Future[_Result] = Future()
        queue = self._patient if patient else self._urgent
        with self._changed:
            if self._closed:
                raise BusyError("the service is stopping", hint="start it again: kds service start")
            if len(queue) + self._running >= self._limit:
                raise BusyError(f"{self._limit} requests are waiting", hint="try again in a second")
            queue.append((call, future, time.monotonic()))
            if self._thread is None:
                self._thread = Thread(target=self._work, name=self._name, daemon=True)
                self._thread.start()
            self._changed.notify()
        return future

    @property
    def waiting(self) -> int:
        """How many calls wait or run."""
        with self._changed:
            return len(self._urgent) + len(self._patient) + self._running

    def close(self, *, wait: bool = True) -> None:
        """Take no more calls, drop those that wait, and wait for the one that is running."""
        with self._changed:
            self._closed = True
            dropped = [*self._urgent, *self._patient]
            self._urgent.clear()
            self._patient.clear()
            self._changed.notify()
        for _, future, _ in dropped:
            future.cancel()
        if wait and self._thread is not None:
            self._thread.join()

    def _work(self) -> None:
        while (job := self._next()) is not None:
            call, future, _ = job
            result: Any = None
            fault: BaseException | None = None
            runs = future.set_running_or_notify_cancel()
            if runs:
                try:
                    result = call()
                except BaseException as error:  # noqa: BLE001  # it belongs to the caller
                    fault = error
            with self._changed:  # first, so that the caller finds the place free
                self._running = 0
            if runs and fault is not None:
                future.set_exception(fault)
            elif runs:
                future.set_result(result)
            del job, call, future, result, fault  # while it waits, nothing is held on to

    def _next(self) -> _Call | None:
        with self._changed:
            self._changed.wait_for(lambda: self._closed or self._urgent or self._patient)
            if not self._urgent and not self._patient:
                return None
            self._running = 1
            overdue = bool(self._patient) and time.monotonic() - self._patient[0][2] > LONG_S
            self._was_urgent = bool(self._urgent) and not (overdue and self._was_urgent)
            return (self._urgent if self._was_urgent else self._patient).popleft()


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
