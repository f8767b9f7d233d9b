"""The one thread that routes: turns of a conversation stay in order, the event loop stays free.

One thread, not several: routing is CPU-bound under the interpreter's lock, so more of them
would be no faster, and two turns of one conversation could overtake each other.
"""

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Final, TypeVar

from kds.service.errors import BusyError

QUEUE_LIMIT: Final = 256
"""Calls that may wait. A turn takes 5-15 ms, so the last in the queue waits 2-4 s: longer than
a hook waits, shorter than a command line does."""

_Result = TypeVar("_Result")


class Worker:
    """Runs calls one after the other, off the event loop it is used from."""

    def __init__(self, *, limit: int = QUEUE_LIMIT) -> None:
        self._executor = ThreadPoolExecutor(1, thread_name_prefix="kds-router")
        self._limit = limit
        self._waiting = 0
        self._closed = False

    async def run(self, call: Callable[[], _Result]) -> _Result:
        """Run ``call`` when its turn comes. Raises BusyError, and whatever ``call`` raises."""
        if self._closed:
            raise BusyError("the service is stopping", hint="start it again: kds service start")
        if self._waiting >= self._limit:
            raise BusyError(f"{self._limit} requests are waiting", hint="try again in a second")
        self._waiting += 1
        try:
            return await asyncio.get_running_loop().run_in_executor(self._executor, call)
        finally:
            self._waiting -= 1

    def close(self) -> None:
        """Take no more calls, and wait for the one that is running."""
        self._closed = True
        self._executor.shutdown(wait=True, cancel_futures=True)
