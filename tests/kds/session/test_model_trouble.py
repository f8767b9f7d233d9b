"""A dead, slow or lying model costs an answer; never a message, and never more than its time."""

import threading
from collections.abc import Iterator
from datetime import UTC, datetime

import pytest

from kds.agents import AgentReply, ModelError
from kds.brain.turn import Turn
from kds.session import agent_runs
from kds.session.agent_runs import AgentRun, Speech

from ...agents.openai_server import Dead, Failure, FakeProvider, Reply, Slow, Text, garbage
from ...effort import PATIENCE_S
from .conftest import Chat

FAB = "I want to add a FAB button"
TIMEOUT_S = 1.0

TROUBLES: tuple[Reply, ...] = (Slow(), Dead("1. Add"), garbage(), Failure(401, "Incorrect API key"))
"""One of each kind; what an agent makes of every other is tried with the agents."""


@pytest.fixture
def hasty(model: FakeProvider, monkeypatch: pytest.MonkeyPatch) -> None:
    """The model may take a second."""
    monkeypatch.setenv("KDS_MODEL_TIMEOUT_S", str(TIMEOUT_S))


@pytest.mark.parametrize("trouble", TROUBLES, ids=str)
@pytest.mark.usefixtures("hasty")
def test_the_answer_says_what_is_wrong_and_carries_the_prompt(chat: Chat, trouble: Reply) -> None:
    chat.model.play(default=trouble)
    answer = chat.open().ask(FAB)
    assert isinstance(answer.error, ModelError)
    assert answer.error.hint
    assert any(answer.error.message in note for note in answer.notes)
    (reply,) = answer.replies
    assert not reply.answered
    assert reply.prompt.startswith("# Work planner")
    assert answer.handoffs == ()
    assert chat.said() == [FAB]
    assert chat.remembered()[0].content == FAB


def test_a_reply_that_breaks_off_is_kept_as_far_as_it_came(chat: Chat) -> None:
    chat.model.play(Dead("1. Add a button"), Text("a plan"))
    answer = chat.open().ask(FAB)
    assert answer.text == "1. Add a button"
    assert not answer.answered
    kept = [message.content for message in chat.remembered()]
    assert kept == [FAB, "1. Add a button\n\n[broken off]"]
    again = chat.open().ask("continue")
    assert (again.text, again.turn.message) == ("a plan", FAB)


def test_what_comes_behind_an_agent_that_failed_waits(chat: Chat) -> None:
    chat.model.play(Failure(500, "down"), Text("a plan"), Text("12 passed"))
    failed = chat.open().ask("Add a login form and then run the tests")
    assert [reply.agent for reply in failed.replies] == ["work-planner"]
    resumed = chat.open().ask("continue")
    assert [reply.text for reply in resumed.replies] == ["a plan", "12 passed"]


def test_a_model_that_is_none_is_refused_at_once(mute: Chat) -> None:
    with pytest.raises(ModelError, match="unknown model") as caught:
        mute.open(model="opnai:gpt")
    assert caught.value.hint == "did you mean openai:...?"
    with pytest.raises(ModelError, match="not a chat model: int"):
        mute.open(model=5)


def test_a_wrong_name_in_the_settings_costs_no_message(
    mute: Chat, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("KDS_MODEL", "opnai:gpt")
    error = mute.open().ask(FAB).error
    assert error is not None
    assert "openai" in (error.hint or "")
    assert mute.said() == [FAB]


def test_an_empty_answer_is_none_and_can_be_asked_again(chat: Chat) -> None:
    chat.model.play(Text(""), Text("a plan"))
    answer = chat.open().ask(FAB)
    assert isinstance(answer.error, ModelError)
    assert "gave no text" in answer.error.message
    assert not answer.answered
    assert answer.handoffs == ()
    assert chat.open().ask("continue").text == "a plan"


def test_a_memory_that_cannot_be_written_costs_a_note(chat: Chat) -> None:
    (chat.folder / "kds-brain" / "memory.db").mkdir()
    answer = chat.open().ask(FAB)
    assert answer.text == "ok"
    assert any("not remembered" in note for note in answer.notes)


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
    monkeypatch.setattr(agent_runs, "LOADING_S", 2 * PATIENCE_S)

    def load() -> None:
        now[0] = 1.5 * PATIENCE_S

    def speak() -> Speech:
        threading.Event().wait(MOMENT_S)
        yield from speaking("one", REPLY)

    run = AgentRun(speak, agent="a", timeout_s=PATIENCE_S, load=load, clock=lambda: now[0])
    assert list(run) == ["one"]
    assert run.outcome == "done"
