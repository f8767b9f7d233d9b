"""Waiting for foreign code, and not longer than agreed: retries, stalls and trickles included.

What is waited for runs in a daemon thread, for event loops as well: the async clients of
providers are bound to the loop that used them first, and fail in the next `asyncio.run`. When time
is up the caller goes on, and the thread is left to itself: it ends with its request, and never
keeps the process from ending.
"""

import asyncio
import threading
import time
from collections.abc import AsyncGenerator, Awaitable, Callable, Iterable, Iterator
from contextlib import aclosing, contextmanager
from contextvars import copy_context
from queue import Empty, SimpleQueue
from typing import Final, Generic, TypeVar

_Value = TypeVar("_Value")

MOST_LEFT: Final = 64
"""Threads left to themselves that may still run: a server that never ends its answers must not
fill the process with them. Each holds a socket and about 100 kB."""

MOMENT_S: Final = 0.001
"""What no call can be made in. Timers of event loops go off by so much too early."""

_left: list[threading.Thread] = []
_left_lock: Final = threading.Lock()


class Deadline:
    """So many seconds from now. Raises TimeoutError where they do not suffice."""

    def __init__(self, seconds: float, *, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._end = clock() + seconds

    @property
    def left_s(self) -> float:
        """Seconds that remain; less than MOMENT_S is nothing."""
        left = self._end - self._clock()
        return left if left >= MOMENT_S else 0.0

    def call(self, function: Callable[[], _Value]) -> _Value:
        """Call ``function`` in a thread, and wait for what it returns or raises."""
        [value] = self.each(lambda: iter([function()]))
        return value

    async def acall(self, function: Callable[[], _Value]) -> _Value:
        """As `call`, without blocking the event loop."""
        async with aclosing(self.aeach(lambda: iter([function()]))) as values:
            [value] = [value async for value in values]
            return value

    def each(self, items: Callable[[], Iterable[_Value]]) -> Iterator[_Value]:
        """Iterate over ``items()`` in a thread, and yield what comes as it comes.

        Only waiting counts: what has come in time is yielded even to a slow reader.
        """
        results: SimpleQueue[_Value | _Ended] = SimpleQueue()
        with _working(items, results.put, self):
            while True:
                try:
                    value = results.get(timeout=self.left_s)
                except Empty:
                    raise TimeoutError("time is up") from None
                if isinstance(value, _Ended):
                    value.check()
                    return
                yield value

    async def aeach(self, items: Callable[[], Iterable[_Value]]) -> AsyncGenerator[_Value, None]:
        """As `each`, without blocking the event loop."""
        loop = asyncio.get_running_loop()
        results: asyncio.Queue[_Value | _Ended] = asyncio.Queue()

        def put(value: "_Value | _Ended") -> None:
            loop.call_soon_threadsafe(results.put_nowait, value)

        with _working(items, put, self):
            while True:
                value = await self.wait(results.get()) if results.empty() else results.get_nowait()
                if isinstance(value, _Ended):
                    value.check()
                    return
                yield value

    async def wait(self, awaitable: Awaitable[_Value]) -> _Value:
        """Await ``awaitable``, and cancel it when time is up."""
        async with asyncio.timeout(self.left_s):
            return await awaitable


class _Ended:
    """What a thread has to say at its end."""

    def __init__(self, error: BaseException | None = None) -> None:
        self._error = error

    def check(self) -> None:
        """Raise what was raised in the thread."""
        if self._error is not None:
            raise self._error


class _Work(Generic[_Value]):
    """What a thread does: hand over each item, until nobody waits any more."""

    def __init__(
        self,
        items: Callable[[], Iterable[_Value]],
        put: "Callable[[_Value | _Ended], None]",
        deadline: Deadline,
    ) -> None:
        self._items, self._put, self._deadline = items, put, deadline
        self.stopped = threading.Event()
        self.ended = False

    def run(self) -> None:
        try:
            for value in self._items():
                self._give(value)
                if self.stopped.is_set() or not self._deadline.left_s:
                    return
            ending = _Ended()
        except BaseException as error:  # noqa: BLE001  # raised where it is waited for
            ending = _Ended(error)
        self.ended = True
        self._give(ending)

    def _give(self, value: "_Value | _Ended") -> None:
        try:
            self._put(value)
        except RuntimeError:  # the event loop that waited is closed
            self.stopped.set()


@contextmanager
def _working(
    items: Callable[[], Iterable[_Value]],
    put: "Callable[[_Value | _Ended], None]",
    deadline: Deadline,
) -> Iterator[None]:
    """Run ``items`` in a thread for as long as the block runs; then it is left to itself."""
    if not deadline.left_s:
        raise TimeoutError("time is up")
    _make_room()
    work = _Work(items, put, deadline)
    context = copy_context()
    thread = threading.Thread(target=context.run, args=(work.run,), name="kds-model", daemon=True)
    thread.start()
    try:
        yield
    finally:
        work.stopped.set()
        if not work.ended:
            with _left_lock:
                _left.append(thread)


def _make_room() -> None:
    """Forget the threads that have ended; raises TimeoutError when too many have not."""
    with _left_lock:
        _left[:] = [thread for thread in _left if thread.is_alive()]
        if len(_left) >= MOST_LEFT:
            raise TimeoutError(f"{MOST_LEFT} earlier calls still hang")
