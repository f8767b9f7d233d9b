"""Models that may hang: their callers wait so long and no longer."""

import asyncio
from collections.abc import Callable
from concurrent.futures import Future, InvalidStateError
from contextlib import suppress
from contextvars import copy_context
from dataclasses import dataclass, field
from functools import partial
from threading import Lock, Thread
from typing import Any, Final, TypeVar

from kds.api.embeddings import EmbeddingsError, NamedEmbedder, load_embedder
from kds.brain.errors import KdsError
from kds.brain.timeouts import Deadline

MOST_AT_ONCE: Final = 16
"""Models that are waited for at the same time. Each wait holds a connection; providers limit
a user to a few dozen requests at once."""

GRACE_S: Final = 1.0
"""What a call may take beyond its timeout: its own error says more than ours."""

QUESTION_S: Final = 1.0
"""Seconds that the vector of one question may take: a model in the process takes 10-30 ms, one
elsewhere 100-300 ms. Without it the words are searched all the same."""

REST_S: Final = 30.0
"""Seconds that a model is left alone after it failed: each try would cost every query its time."""

_Result = TypeVar("_Result")


class WaitError(KdsError):
    """No answer: time was up, or the service is stopping."""


class Speakers:
    """Runs calls that wait for a model, off the event loop it is used from.

    In daemon threads: one that hangs does not keep the process from ending.
    """

    def __init__(self, *, limit: int = MOST_AT_ONCE) -> None:
        self._room = asyncio.Semaphore(limit)
        self._waiting: set[Future[Any]] = set()
        self._stopped = False

    async def run(
        self, call: Callable[[], _Result], *, timeout_s: float, setting: str = "model.timeout_s"
    ) -> _Result:
        """Run ``call``; waiting for a place and for its end take ``timeout_s`` at most.

        ``setting`` is where a user sets that limit. Raises WaitError, and whatever ``call`` raises.
        """
        try:
            async with asyncio.timeout(timeout_s + GRACE_S), self._room:
                return await asyncio.wrap_future(self._started(call))
        except TimeoutError:
            raise WaitError(
                f"no answer within {timeout_s:g} s",
                hint=f"try again, use a faster model, or raise {setting} in your own settings",
            ) from None

    def stop(self) -> None:
        """Release every caller that waits; from any thread."""
        self._stopped = True
        for future in list(self._waiting):
            with suppress(InvalidStateError):
                future.set_exception(WaitError("the service is stopping"))

    def _started(self, call: Callable[[], _Result]) -> Future[_Result]:
        future: Future[_Result] = Future()
        self._waiting.add(future)
        future.add_done_callback(self._waiting.discard)

        def work() -> None:
            with suppress(InvalidStateError):  # released, or timed out
                try:
                    future.set_result(call())
                except BaseException as error:  # noqa: BLE001  # it belongs to the caller
                    future.set_exception(error)

        if self._stopped:
            self.stop()
        else:
            run = copy_context().run
            Thread(target=run, args=(work,), name="kds-answer", daemon=True).start()
        return future


@dataclass(frozen=True, slots=True)
class PatientEmbedder(NamedEmbedder):
    """An embedder whose questions have a time limit; after a failure it rests."""

    limit_s: float = QUESTION_S
    rest: Deadline = field(default_factory=partial(Deadline, 0.0))

    def embed_query(self, text: str) -> list[float]:
        """Return the vector of a question. Raises EmbeddingsError, or what the model raises."""
        if left_s := self.rest.left_s:
            raise EmbeddingsError(f"it failed, and is tried again in {left_s:.0f} s")
        try:
            return Deadline(self.limit_s).call(partial(self.model.embed_query, text))
        except BaseException:
            self.rest.renew(REST_S)
            raise


class EmbedderSlot:
    """Holds the model that the settings name, once it is loaded."""

    def __init__(self, wanted: Callable[[], str | None]) -> None:
        self._wanted = wanted
        self._lock = Lock()
        self._held: PatientEmbedder | None = None

    @property
    def ready(self) -> PatientEmbedder | None:
        """The model, if it is the one that is wanted and is loaded; never waits."""
        held = self._held
        return held if held is not None and held.name == self._wanted() else None

    def load(self) -> PatientEmbedder | None:
        """Load the model that is wanted; None when none is. Raises EmbeddingsError.

        May take seconds: not for the thread that routes.
        """
        with self._lock:
            name = self._wanted()
            if name is not None and self.ready is None:
                self._held = PatientEmbedder(name, load_embedder(name))
            return self.ready
