"""Foreign calls: their result, their failure, or their time is up."""

from contextvars import ContextVar
from threading import Event

import pytest

from kds.brain.summaries.deadline import CallError, call_within

from ...effort import PATIENCE_S  # noqa: TID252  # one way of waiting for all

TRACE: ContextVar[str] = ContextVar("TRACE", default="none")


def test_a_call_returns_what_it_returns() -> None:
    assert call_within(lambda: 7, timeout_s=PATIENCE_S) == 7


def test_it_sees_the_context_of_its_caller() -> None:
    TRACE.set("a trace")
    assert call_within(TRACE.get, timeout_s=PATIENCE_S) == "a trace"


def test_a_failure_says_what_it_was() -> None:
    with pytest.raises(CallError, match="ZeroDivisionError: "):
        call_within(lambda: 1 // 0, timeout_s=PATIENCE_S)


def test_a_call_that_hangs_is_left_behind() -> None:
    never = Event()
    with pytest.raises(CallError, match="no answer within"):
        call_within(lambda: never.wait(), timeout_s=0.01)
    never.set()
