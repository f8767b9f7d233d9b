"""Waiting for models without holding anybody up: threads of their own, a few at a time.

A model may be dead, slow or dribble for ever: whoever asked waits no longer than its timeout,
and no thread that others need waits at all.
"""

import asyncio
from collections.abc import Callable
from concurrent.futures import Future, InvalidStateError
from contextlib import suppress
from contextvars import copy_context
from threading import Lock, Thread
from typing import Any, Final, TypeVar

from kds.brain.errors import KdsError

MOST_AT_ONCE: Final = 16
"""Models that are waited for at the same time. Each wait holds a connection; providers limit
a user to a few dozen requests at once."""

GRACE_S: Final = 1.0
"""What a call may take beyond its timeout: its own error says more than ours."""

_Result = TypeVar("_Result")


class WaitError(KdsError):
    """What was waited for did not come: time was up, or the service is stopping."""


class Speakers:
    """Runs calls that wait for a model, off the event loop it is used from."""

    def __init__(self, *, limit: int = MOST_AT_ONCE) -> None:
        self._room = asyncio.Semaphore(limit)
        self._lock = Lock()
        self._waiting: set[Future[Any]] = set()
        self._stopped = False

    async def run(
        self, call: Callable[[], _Result], *, timeout_s: float, setting: str = "model.timeout_s"
    ) -> _Result:
        """Run ``call``; waiting for a place and for its end take ``timeout_s`` at most.

        ``setting`` is where a user says how long that is. Raises WaitError, and whatever
        ``call`` raises.
        """
        try:
            async with asyncio.timeout(timeout_s + GRACE_S), self._room:
                return await asyncio.wrap_future(self._start(call))
        except TimeoutError:
            raise WaitError(
                f"no answer within {timeout_s:g} s",
                hint=f"try again, use a faster model, or raise {setting} in your own settings",
            ) from None

    def stop(self) -> None:
        """Let everybody go who waits; from any thread."""
        with self._lock:
            self._stopped = True
            left = list(self._waiting)
        for future in left:
            with suppress(InvalidStateError):
                future.set_exception(_stopping())

    def _start(self, call: Callable[[], _Result]) -> Future[_Result]:
        future: Future[_Result] = Future()
        with self._lock:
            if self._stopped:
                raise _stopping()
            self._waiting.add(future)
        future.add_done_callback(self._forget)
        Thread(
            target=copy_context().run, args=(_run, call, future), name="kds-answer", daemon=True
        ).start()
        return future

    def _forget(self, future: Future[Any]) -> None:
        with self._lock:
            self._waiting.discard(future)


def _stopping() -> WaitError:
    return WaitError("the service is stopping")


def _run(call: Callable[[], Any], future: Future[Any]) -> None:
    """Give the result, unless nobody waits any more."""
    try:
        result = call()
    except BaseException as error:  # noqa: BLE001  # it belongs to whoever waits
        with suppress(InvalidStateError):
            future.set_exception(error)
    else:
        with suppress(InvalidStateError):
            future.set_result(result)
