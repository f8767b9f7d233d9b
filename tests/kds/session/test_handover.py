"""Work that goes from agent to agent: several intents in a message, offers, chains."""

import pytest

import kds
from kds.brain.context.work import Offer

from ...agents.openai_server import Calls, Text
from .conftest import Chat

FAB = "I want to add a FAB button"
PLAN_AND_TEST = "Add a login form and then run the tests"
PLAN = "1. Write the form.\n" * 60
"""Longer than what the window of the memory keeps of a reply."""


def agents(answer: kds.Answer) -> list[str]:
    return [reply.agent for reply in answer.replies]


def test_the_second_agent_sees_the_whole_reply_of_the_first(chat: Chat) -> None:
    chat.model.play(Text(PLAN), Text("12 passed"))
    chat.open().ask(PLAN_AND_TEST)
    sent = [(one["role"], one["content"]) for one in chat.model.asked[1].messages]
    assert sent[1:3] == [("user", PLAN_AND_TEST), ("assistant", PLAN)]
    assert "reply above is that of work-planner" in sent[0][1]
    assert "that of test-generator, and no more" in sent[0][1]


@pytest.mark.parametrize("words", ["go ahead", "OK, go ahead!", "continue"])
def test_saying_go_ahead_takes_the_offer(chat: Chat, words: str) -> None:
    chat.model.play(Text(PLAN), Text("built"))
    chat.open().ask(FAB)
    answer = chat.open().ask(words)
    assert agents(answer) == ["code-executor"]
    assert PLAN in [one["content"] for one in chat.model.asked[1].messages]
    assert answer.turn.session_id == answer.turn.context[0].session_id


def test_continue_takes_what_the_model_has_chosen(chat: Chat) -> None:
    chosen = Calls(("hand_off", {"intent": "TEST", "reason": "it is built"}), text="built")
    chat.model.play(Text(PLAN), chosen, Text("12 passed"))
    session = chat.open()
    session.ask(FAB)
    answer = session.ask("continue")
    assert answer.handoffs[0] == Offer("TEST", "test-generator", "it is built", chosen=True)
    assert session.ask("continue").turn.intent == "TEST"


def test_the_work_can_be_handed_over_by_call(chat: Chat) -> None:
    chat.model.play(Text(PLAN), Text("built"), Text("12 passed"))
    session = chat.open()
    session.ask(FAB)
    assert agents([*session.begin_hand_over().pieces()][-1]) == ["code-executor"]
    assert agents([*session.begin_hand_over("test").pieces()][-1]) == ["test-generator"]
    with pytest.raises(kds.DispatchError, match="PLAN was not offered"):
        session.begin_hand_over("PLAN")


def test_what_is_left_of_a_message_is_taken_up_by_continue(chat: Chat) -> None:
    """The process ended before the second agent had its turn."""
    pieces = chat.open().stream(PLAN_AND_TEST)
    session = chat.open()
    next(pieces)
    assert session.work.rest == ("TEST",)
    assert agents(session.ask("continue")) == ["test-generator"]
