"""A correction halts the work in progress; what was said until then is kept."""

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import pytest

from ...agents.openai_server import Slow, Stall, Text, Trickle
from ...effort import PATIENCE_S
from .conftest import Chat, whole

DARK = "I want to add dark mode"
PLAN_AND_TEST = "Add a login form and then run the tests"


@pytest.fixture
def threads() -> Iterator[ThreadPoolExecutor]:
    """In which somebody else waits for an answer."""
    pool = ThreadPoolExecutor(8)
    yield pool
    pool.shutdown(wait=False)  # the sessions, which end what runs, are closed after this


def test_what_was_still_to_come_is_dropped(chat: Chat) -> None:
    chat.model.play(Stall("1. Write"), Text("sorry"))
    session = chat.open()
    pieces = session.stream(PLAN_AND_TEST)
    next(pieces)
    correction = session.ask("No, that is the wrong form")
    assert correction.turn.intent == "CORRECT"
    answer = whole(pieces)
    assert [reply.agent for reply in answer.replies] == ["work-planner"]
    assert correction.stopped is not None
    assert correction.stopped.dropped == ("TEST",)
    assert "TEST was still to come, and was dropped" in chat.model.asked[1].text
    assert len(chat.model.asked) == 2


def test_to_stop_iterating_halts_the_agent(chat: Chat) -> None:
    chat.model.play(Trickle("and "))
    session = chat.open()
    pieces = session.stream(PLAN_AND_TEST)
    next(pieces)
    pieces.close()  # type: ignore[attr-defined]  # a generator
    ((speaker, said),) = chat.replies()
    assert speaker == "work-planner"
    assert said.endswith("[halted]")
    assert session.work.rest == ()


def test_closing_a_session_halts_what_runs(chat: Chat, threads: ThreadPoolExecutor) -> None:
    chat.model.play(Slow())
    session = chat.open()
    asking = threads.submit(session.ask, DARK)
    assert chat.model.wait_asked()
    session.close()
    assert asking.result(PATIENCE_S).halted
