"""Timeouts for calls that may block for ever.

Foreign code (a model, a tool) runs in a daemon thread. When time is up the caller goes on, and the
thread is abandoned: it ends with its request, and never keeps the process from ending.
"""

import threading
import time
from collections.abc import Callable, Generator, Iterable, Iterator
from contextlib import contextmanager
from contextvars import copy_context
from queue import Empty, SimpleQueue
from typing import Any, Final, TypeVar

from kds.brain.errors import KdsError

_Value = TypeVar("_Value")

MOMENT_S: Final = 0.001
"""Too short for any call. Timers of event loops go off by so much too early."""


@contextmanager
def leaving_time(rest: float = 1.0) -> Iterator[None]:
    """Sleep after the block, ``rest`` times as long as it took: that time is others'."""
    begun = time.monotonic()
    yield
    time.sleep((time.monotonic() - begun) * rest)


class OutOfTimeError(TimeoutError):
    """It was not done in time."""


class CallError(KdsError):
    """The call raised an error, or did not return in time."""


class Deadline:
    """So many seconds from now; ``clock`` returns seconds."""

    def __init__(self, seconds: float, *, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self.renew(seconds)

    def renew(self, seconds: float) -> None:
        """Start again; a caller that waits already does so until the next item."""
        self._end = self._clock() + seconds

    @property
    def left_s(self) -> float:
        """Seconds that remain; less than MOMENT_S is nothing."""
        left = self._end - self._clock()
        return left if left >= MOMENT_S else 0.0

    @property
    def is_over(self) -> bool:
        """Whether time is up."""
        return not self.left_s

    def until(self, done: Callable[[], bool], *, pause_s: float) -> bool:
        """Poll ``done`` until it is true, with pauses; False when time is up before."""
        while not done():
            if self.is_over:
                return False
            time.sleep(pause_s)
        return True

    def call(self, function: Callable[[], _Value]) -> _Value:
        """Return what ``function`` returns, or raise what it raises. Raises OutOfTimeError."""
        [value] = self.each(lambda: (function(),))
        return value

    def each(
        self, items: Callable[[], Iterable[_Value]], queue: "SimpleQueue[Any] | None" = None
    ) -> Generator[_Value, None, None]:
        """Yield the items as they come. Raises what they raise, and OutOfTimeError.

        Only waiting counts: an item that came in time is yielded even to a slow reader. None in
        the ``queue`` wakes the reader, as if there were no further item.
        """
        if self.is_over:
            raise OutOfTimeError("time is up")
        inbox, stopped = queue or SimpleQueue(), threading.Event()

        def work() -> None:
            try:
                for value in items():
                    inbox.put((value,))
                    if stopped.is_set():
                        return
                    if self.is_over:  # the caller may be waiting by an earlier clock
                        raise OutOfTimeError("time is up")
            except BaseException as raised:  # noqa: BLE001  # raised in the caller
                inbox.put(raised)
            inbox.put(None)

        run = copy_context().run
        threading.Thread(target=run, args=(work,), name="kds-deadline", daemon=True).start()
        try:
            while (found := inbox.get(timeout=self.left_s)) is not None:
                if isinstance(found, BaseException):
                    raise found
                yield found[0]
        except Empty:
            raise OutOfTimeError("time is up") from None
        finally:
            stopped.set()


def call_within(call: Callable[[], _Value], *, timeout_s: float) -> _Value:
    """Return what ``call`` returns. Raises CallError when it fails or takes longer.

    The cause of the error is what ``call`` raised; there is none when it took too long.
    """
    try:
        return Deadline(timeout_s).call(call)
    except OutOfTimeError:
        message = f"no answer within {timeout_s:g} s"
        raise CallError(message, hint="use a faster model, or allow more time") from None
    except Exception as error:  # foreign code may raise anything
        raise CallError(f"{type(error).__name__}: {error}", hint="see the reason above") from error
