"""A dead, slow or lying model costs an answer; never a message, and never more than its time."""

import time

import pytest

from kds.agents import ModelError, ModelSettings, models

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


@pytest.mark.usefixtures("hasty")
def test_loading_the_client_does_not_count_as_the_models_time(
    chat: Chat, monkeypatch: pytest.MonkeyPatch
) -> None:
    load = models.load_chat_model

    def slow(settings: ModelSettings) -> object:
        time.sleep(1.2 * TIMEOUT_S)
        return load(settings)

    monkeypatch.setattr(models, "load_chat_model", slow)
    assert chat.open().ask(FAB).text == "ok"
