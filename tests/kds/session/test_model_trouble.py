"""A dead, slow or lying model costs an answer; never a message, and never more than its time."""

import pytest

from kds.agents import ModelError

from ...agents.openai_server import Dead, Failure, FakeProvider, Reply, Slow, Text, garbage
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


def test_what_comes_behind_an_agent_that_failed_waits(chat: Chat) -> None:
    chat.model.play(Failure(500, "down"), Text("a plan"), Text("12 passed"))
    failed = chat.open().ask("Add a login form and then run the tests")
    assert [reply.agent for reply in failed.replies] == ["work-planner"]
    resumed = chat.open().ask("continue")
    assert [reply.text for reply in resumed.replies] == ["a plan", "12 passed"]


def test_a_memory_that_cannot_be_written_costs_a_note(chat: Chat) -> None:
    (chat.folder / "kds-brain" / "memory.db").mkdir()
    answer = chat.open().ask(FAB)
    assert answer.text == "ok"
    assert any("not remembered" in note for note in answer.notes)
