"""Calls of somebody else's code, such as a language model: bounded in time, whatever it raises."""

import contextvars
from collections.abc import Callable
from concurrent.futures import Future
from concurrent.futures import TimeoutError as TimedOutError
from threading import Thread
from typing import TypeVar

from kds.brain.errors import KdsError

T = TypeVar("T")


class CallError(KdsError):
    """The call raised an error, or did not return in time."""


def call_within(call: Callable[[], T], *, timeout_s: float) -> T:
    """Return what ``call`` returns. Raises CallError when it fails or takes longer.

    It runs in a thread of its own, which nobody waits for afterwards: a call that hangs keeps
    neither the conversation nor the end of the program.
    """
    future: Future[T] = Future()
    context = contextvars.copy_context()  # tracing and the like go by it
    Thread(target=context.run, args=(_settle, future, call), daemon=True).start()
    try:
        error = future.exception(timeout=timeout_s)
    except TimedOutError:
        raise CallError(
            f"no answer within {timeout_s:g} s", hint="use a faster model, or allow more time"
        ) from None
    if error is not None:
        raise CallError(f"{type(error).__name__}: {error}", hint="see the reason above") from error
    return future.result()


def _settle(future: "Future[T]", call: Callable[[], T]) -> None:
    try:
        future.set_result(call())
    except Exception as error:  # noqa: BLE001  # foreign code may raise anything
        future.set_exception(error)
