"""Answers as servers really send them: without ids, with figures that are none, or worse."""

import json
from collections.abc import Callable
from contextlib import suppress
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from langchain_core.language_models import BaseChatModel

from kds.agents import Agent, AgentReply, ModelError

from .openai_server import FakeProvider, Raw, Text, wrong_shape

MakeAgent = Callable[..., Agent]


def _answer(message: dict[str, Any], usage: Any = None) -> dict[str, Any]:
    choice = {"index": 0, "message": {"role": "assistant", **message}, "finish_reason": "stop"}
    return {"id": "1", "object": "chat.completion", "created": 1, "model": "m", "usage": usage,
            "choices": [choice]}  # fmt: skip


def test_calls_without_an_id_are_answered_all_the_same(
    make_agent: MakeAgent, model: BaseChatModel, provider: FakeProvider
) -> None:
    function = {"name": "hand_off", "arguments": '{"intent": "EXECUTE"}'}
    call = {"id": None, "type": "function", "function": function}
    provider.play(wrong_shape(_answer({"content": None, "tool_calls": [call]})), Text("The plan."))
    reply = make_agent().as_runnable(model).invoke("dark mode")
    assert [handoff.intent for handoff in reply.handoffs] == ["EXECUTE"]
    asked, told = provider.asked[1].messages[-2:]
    assert asked["tool_calls"][0]["id"] == told["tool_call_id"] != ""


def test_half_of_a_surrogate_pair_does_not_get_through(
    make_agent: MakeAgent, model: BaseChatModel, provider: FakeProvider
) -> None:
    agent = make_agent("EXECUTE").as_runnable(model)
    provider.play(wrong_shape(_answer({"content": "Hello \ud800"})), Text("Hello \ud800"))
    assert agent.invoke("go").text == "Hello \ufffd"
    assert "".join(piece.text for piece in agent.stream("go")) == "Hello \ufffd"


_JUNK = st.none() | st.booleans() | st.integers(-3, 10**20) | st.text(max_size=5) | st.just([])
_CALLS = st.lists(
    st.fixed_dictionaries(
        {"id": _JUNK, "type": st.just("function"),
         "function": st.fixed_dictionaries(
             {"name": _JUNK | st.just("hand_off"), "arguments": _JUNK | st.just('{"intent": 5}')})}
    ), max_size=2,
)  # fmt: skip
_MESSAGES = st.fixed_dictionaries({}, optional={"content": _JUNK, "tool_calls": _JUNK | _CALLS})
_USAGES = st.dictionaries(
    st.sampled_from(["prompt_tokens", "completion_tokens", "total_tokens"]), _JUNK
)


@pytest.mark.filterwarnings("ignore:Pydantic serializer warnings")
@settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(message=_MESSAGES, usage=_JUNK | _USAGES)
def test_whatever_a_server_sends_is_a_reply_or_an_error_of_the_model(
    make_agent: MakeAgent, model: BaseChatModel, provider: FakeProvider, message: dict[str, Any],
    usage: Any,
) -> None:  # fmt: skip
    body = json.dumps(_answer(message, usage)).encode()
    provider.play(Raw(body), default=Text("ok"))
    with suppress(ModelError):
        reply = make_agent().as_runnable(model).invoke("dark mode")
        assert isinstance(reply, AgentReply)
        json.dumps(reply.as_dict(), ensure_ascii=False).encode()
