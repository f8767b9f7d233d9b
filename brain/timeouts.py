"""Waiting no longer than agreed, for whatever may take for ever: the one clock that runs down.

Foreign code (a model, a tool) is waited for in a daemon thread, for event loops as well: the async
clients of providers are bound to the loop that used them first, and fail in the next one. When
time is up the caller goes on, and the thread is left to itself: it ends with its request, and
never keeps the process from ending.

Waiting is written once, as coroutines; `at_once` and `one_by_one` run them without an event loop.
"""

import threading
import time
from collections.abc import AsyncGenerator, Callable, Coroutine, Generator, Iterable, Iterator
from contextlib import aclosing, contextmanager
from contextvars import copy_context
from queue import Empty, SimpleQueue
from typing import Any, Final, Generic, Protocol, TypeVar

from kds.brain.errors import KdsError

_Value = TypeVar("_Value")

MOST_LEFT: Final = 64
"""Threads left to themselves that may still run: a server that never ends its answers must not
fill the process with them. Each holds a socket and about 100 kB."""

MOMENT_S: Final = 0.001
"""What no call can be made in. Timers of event loops go off by so much too early."""

_left: list[threading.Thread] = []
_left_lock: Final = threading.Lock()


class OutOfTimeError(TimeoutError):
    """It was not done in time."""


class CallError(KdsError):
    """The call raised an error, or did not return in time."""


class Inbox(Protocol):
    """Where the thread puts what it has, for the caller to get."""

    def put(self, item: Any, /) -> None:
        """Take an item, in any thread. Raises RuntimeError when nobody can get it any more."""
        ...

    async def get(self, left_s: float, /) -> Any:
        """Return the next item. Raises TimeoutError when there is none within so many seconds."""
        ...


class BlockingQueue:
    """An inbox for who has no event loop: the thread that gets stands still."""

    def __init__(self) -> None:
        self._items: SimpleQueue[Any] = SimpleQueue()
        self.put = self._items.put

    async def get(self, left_s: float, /) -> Any:
        """Return the next item. Raises OutOfTimeError."""
        try:
            return self._items.get(timeout=left_s)
        except Empty:
            raise OutOfTimeError("time is up") from None

    def end(self) -> None:
        """Have whoever waits wait no more, as if there were no further item."""
        self.put(_Ended())


class Deadline:
    """So many seconds from now; ``clock`` returns seconds."""

    def __init__(self, seconds: float, *, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self.renew(seconds)

    def renew(self, seconds: float) -> None:
        """Begin anew; who waits already does so until the next item."""
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
        """Ask ``done`` until it is so, with pauses; False when time is up before."""
        while not done():
            if self.is_over:
                return False
            time.sleep(pause_s)
        return True

    def call(self, function: Callable[[], _Value]) -> _Value:
        """Return what ``function`` returns, or raise what it raises. Raises OutOfTimeError."""
        return at_once(self.called(function, BlockingQueue()))

    async def called(self, function: Callable[[], _Value], inbox: Inbox) -> _Value:
        """As `call`; ``inbox`` says how to wait."""
        async with aclosing(self.heard(lambda: (function(),), inbox)) as values:
            [value] = [value async for value in values]
            return value

    def each(
        self, items: Callable[[], Iterable[_Value]], inbox: BlockingQueue | None = None
    ) -> Generator[_Value, None, None]:
        """Yield the items as they come. Raises what they raise, and OutOfTimeError.

        Only waiting counts: what has come in time is yielded even to a slow reader.
        """
        return one_by_one(self.heard(items, inbox or BlockingQueue()))

    async def heard(
        self, items: Callable[[], Iterable[_Value]], inbox: Inbox
    ) -> AsyncGenerator[_Value, None]:
        """As `each`; ``inbox`` says how to wait."""
        with self._working(items, inbox):
            while not isinstance(value := await inbox.get(self.left_s), _Ended):
                yield value
            if value.error is not None:
                raise value.error

    @contextmanager
    def _working(self, items: Callable[[], Iterable[object]], inbox: Inbox) -> Iterator[None]:
        """Run ``items`` in a thread for as long as the block runs; then it is left to itself."""
        if self.is_over:
            raise OutOfTimeError("time is up")
        _make_room()
        work = _Work(items, inbox, self)
        run = copy_context().run
        thread = threading.Thread(target=run, args=(work.run,), name="kds-deadline", daemon=True)
        thread.start()
        try:
            yield
        finally:
            work.stopped.set()
            if not work.ended:
                with _left_lock:
                    _left.append(thread)


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


def at_once(coroutine: Coroutine[Any, Any, _Value]) -> _Value:
    """Return what a coroutine returns that awaits nothing but a `BlockingQueue`.

    It runs in this thread, inside of a running event loop too, and needs none.
    """
    try:
        coroutine.send(None)
    except StopIteration as stop:
        value: _Value = stop.value
        return value
    coroutine.close()
    raise AssertionError("it awaits an event loop")


def one_by_one(items: AsyncGenerator[_Value, None]) -> Generator[_Value, None, None]:
    """Yield what an asynchronous generator yields, as `at_once` does."""
    try:
        while True:
            try:
                item = at_once(items.__anext__())
            except StopAsyncIteration:
                return
            yield item
    finally:
        at_once(items.aclose())


class _Ended:
    """What a thread has to say at its end."""

    def __init__(self, error: BaseException | None = None) -> None:
        self.error = error


class _Work(Generic[_Value]):
    """What a thread does: hand over each item, until nobody waits any more."""

    def __init__(
        self, items: Callable[[], Iterable[_Value]], inbox: Inbox, deadline: Deadline
    ) -> None:
        self._items, self._inbox, self._deadline = items, inbox, deadline
        self.stopped = threading.Event()
        self.ended = False

    def run(self) -> None:
        try:
            for value in self._items():
                self._give(value)
                if self.stopped.is_set() or self._deadline.is_over:
                    return
            ending = _Ended()
        except BaseException as error:  # noqa: BLE001  # raised where it is waited for
            ending = _Ended(error)
        self.ended = True
        self._give(ending)

    def _give(self, item: object) -> None:
        try:
            self._inbox.put(item)
        except RuntimeError:  # the event loop that waited is closed
            self.stopped.set()


def _make_room() -> None:
    """Forget the threads that have ended; raises OutOfTimeError when too many have not."""
    with _left_lock:
        _left[:] = [thread for thread in _left if thread.is_alive()]
        if len(_left) >= MOST_LEFT:
            raise OutOfTimeError(f"{MOST_LEFT} earlier calls still hang")
