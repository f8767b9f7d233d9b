"""An agent in its thread: the caller can leave at any time."""

import threading
from collections.abc import Iterator
from datetime import UTC, datetime

import pytest

from kds.agents.agent import AgentReply
from kds.agents.models import ModelError
from kds.brain.turn import Turn
from kds.session import agent_runs as agent_run
from kds.session.agent_runs import AgentRun, Speech

from ...effort import PATIENCE_S

MOMENT_S = 0.05
"""In which somebody whose time is up notices it; nothing else hangs on it."""

REPLY = AgentReply("a", "PLAN", "one two", "", Turn("m", datetime(2025, 11, 3, tzinfo=UTC)))


def speaking(*items: str | AgentReply | Exception) -> Iterator[str | AgentReply]:
    for item in items:
        if isinstance(item, Exception):
            raise item
        yield item


def run_of(*items: str | AgentReply | Exception) -> AgentRun:
    return AgentRun(lambda: speaking(*items), agent="a", timeout_s=PATIENCE_S)


def test_foreign_errors_are_told_of() -> None:
    run = run_of(ZeroDivisionError("by zero"))
    assert list(run) == []
    assert "a failed: ZeroDivisionError: by zero" in str(run.error)


def test_its_time_is_all_it_gets() -> None:
    now = [0.0]
    stuck = threading.Event()

    def speak() -> Speech:
        yield "one "
        stuck.wait()

    run = AgentRun(speak, agent="a", timeout_s=PATIENCE_S, clock=lambda: now[0])
    pieces = iter(run)
    assert next(pieces) == "one "
    now[0] = 2 * PATIENCE_S
    assert list(pieces) == []
    assert isinstance(run.error, ModelError)
    assert run.error.kind == "timeout"
    stuck.set()


def test_loading_does_not_count_as_its_time(monkeypatch: pytest.MonkeyPatch) -> None:
    now = [0.0]
    monkeypatch.setattr(agent_run, "LOADING_S", 2 * PATIENCE_S)

    def load() -> None:
        now[0] = 1.5 * PATIENCE_S

    def speak() -> Speech:
        threading.Event().wait(MOMENT_S)
        yield from speaking("one", REPLY)

    run = AgentRun(speak, agent="a", timeout_s=PATIENCE_S, load=load, clock=lambda: now[0])
    assert list(run) == ["one"]
    assert run.outcome == "done"
