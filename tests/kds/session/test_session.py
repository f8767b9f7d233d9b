"""The loop: route, run the agent, remember both sides."""

from datetime import UTC, datetime, timedelta

import pytest

import kds

from ...agents.openai_server import Text
from .conftest import Chat

FAB = "I want to add a FAB button"
PURPLE = "Make it purple"


def test_the_two_line_loop(chat: Chat) -> None:
    chat.model.play(Text("1. Add the button."), Text("It is purple now."))
    session = kds.Session.open()
    session.ask(FAB)
    answer = session.ask(PURPLE)
    session.close()
    system, *sent = [(one["role"], one["content"]) for one in chat.model.asked[1].messages]
    assert system[0] == "system"
    assert system[1].startswith("# Code executor")
    assert answer.turn.prompt in system[1]
    assert sent == [
        ("user", FAB), ("assistant", "1. Add the button."), ("user", "Make the FAB button purple"),
    ]  # fmt: skip
    assert answer.text == "It is purple now."
    assert answer.answered
    assert (answer.turn.intent, answer.turn.expanded) == ("EXECUTE", "Make the FAB button purple")
    assert [(one.role, one.content) for one in chat.remembered()] == [
        ("user", FAB), ("assistant", "1. Add the button."),
        ("user", PURPLE), ("assistant", "It is purple now."),
    ]  # fmt: skip
    assert chat.said() == [FAB, PURPLE]


def test_a_stream_yields_the_pieces_and_then_the_answer(chat: Chat) -> None:
    chat.model.play(Text("Here is the plan you asked for."))
    *pieces, answer = chat.open().stream(FAB)
    assert isinstance(answer, kds.Answer)
    assert len(pieces) > 3
    assert "".join(map(str, pieces)) == answer.text == "Here is the plan you asked for."
    assert answer.as_dict()["replies"][0]["usage"] == {  # type: ignore[index]  # JSON
        "input_tokens": 12, "output_tokens": 5, "total_tokens": 17,
    }  # fmt: skip


def test_the_memory_can_be_off(chat: Chat, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("KDS_MEMORY", "off")
    session = chat.open()
    session.ask(FAB)
    answer = session.ask("hello")
    assert answer.session is None
    assert chat.remembered() == []
    assert [one["role"] for one in chat.model.asked[1].messages] == ["system", "user"]
    assert chat.said() == [FAB, "hello"]


def test_two_hours_later_it_is_a_new_conversation(chat: Chat) -> None:
    now = datetime.now(UTC)
    first = chat.open(clock=lambda: now).ask(FAB)
    later = chat.open(clock=lambda: now + timedelta(hours=2, seconds=1)).ask(PURPLE)
    assert first.session != later.session
    assert [one["role"] for one in chat.model.asked[1].messages] == ["system", "user"]


def test_a_named_conversation_is_one_of_its_own_and_is_resumed(chat: Chat) -> None:
    chat.open().ask("I want to add a login form")
    begun = chat.open(name="Buttons").ask(FAB)
    resumed = chat.open(name="buttons").ask(PURPLE)
    assert begun.session == resumed.session
    assert resumed.turn.expanded == "Make the FAB button purple"
    assert "login" not in chat.model.asked[2].text
    assert chat.open(name=begun.session).ask("Add a shadow").session == begun.session
    titles = [one.title for one in chat.open().memory.sessions()]
    assert titles == ["Buttons", "I want to add a login form"]


def test_clearing_begins_afresh(chat: Chat) -> None:
    session = chat.open()
    first = session.ask(FAB)
    assert session.clear() == 1
    again = session.ask(PURPLE)
    assert again.turn.context == ()
    assert again.session != first.session
    assert [one["role"] for one in chat.model.asked[1].messages] == ["system", "user"]
    assert len(chat.remembered()) == 4
