import asyncio
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from langchain_core.messages import AIMessage, HumanMessage
from langchain_core.prompts import ChatPromptTemplate, PromptTemplate
from langchain_core.runnables import Runnable

from kds.agents import router_runnable
from kds.brain.errors import MessageError
from kds.brain.turn import Turn

START = datetime(2025, 11, 3, tzinfo=UTC)


class Conversation:
    """A route function that remembers earlier messages, as the router does."""

    def __init__(self) -> None:
        self.messages: list[str] = []

    def route(self, message: str) -> Turn:
        if not message.strip():
            raise MessageError("the message is empty")
        self.messages.append(message)
        at = START + timedelta(minutes=len(self.messages))
        return Turn(message, at, expanded=" > ".join(self.messages))


@pytest.fixture
def router() -> Runnable[Any, Turn]:
    return router_runnable(Conversation().route)


SHAPES = (
    "hello", HumanMessage("hello"), HumanMessage([{"type": "text", "text": "hello"}]),
    [HumanMessage("before"), HumanMessage("hello"), AIMessage("yes?")], [("human", "hello")],
    [{"role": "user", "content": "hello"}], {"message": "hello"},
    {"message": HumanMessage("hello")}, {"messages": [HumanMessage("hello")]},
    ChatPromptTemplate.from_messages([("human", "{x}")]).invoke({"x": "hello"}),
    PromptTemplate.from_template("{x}").invoke({"x": "hello"}),
)  # fmt: skip
NO_TEXT = (None, 3, b"hello", [], [AIMessage("x")], [3], {}, {"text": "hello"})


def test_every_shape_of_input_with_a_human_text_is_routed(router: Runnable[Any, Turn]) -> None:
    assert {router.invoke(given).message for given in SHAPES} == {"hello"}
    for given in NO_TEXT:
        with pytest.raises(MessageError):
            router.invoke(given)


def test_a_batch_runs_in_order_and_a_stream_gives_one_turn(router: Runnable[Any, Turn]) -> None:
    turns = router.batch(list("abcdefgh"))
    assert turns[-1].expanded == "a > b > c > d > e > f > g > h"
    more = asyncio.run(router.abatch(list("ij")))
    assert more[-1].expanded == f"{turns[-1].expanded} > i > j"
    assert [turn.message for turn in router.stream("hello")] == ["hello"]
