"""What a model answers beside text: handing on, and what servers make of it."""

import json
from contextlib import suppress
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from langchain_core.language_models import BaseChatModel

from kds.agents import AgentReply, AgentRunnable, Handoff, ModelError

from .conftest import MakeAgent
from .openai_server import Calls, Failure, FakeProvider, Raw, Text, wrong_shape

TO_EXECUTE = Handoff("EXECUTE", "code-executor", "the plan is agreed")


def test_the_model_can_hand_on_with_a_tool(planner: AgentRunnable, provider: FakeProvider) -> None:
    call = ("hand_off", {"intent": "EXECUTE", "reason": "the plan is agreed"})
    provider.play(Calls(call), Text("Here is the plan."))
    reply = planner.invoke("dark mode")
    assert (reply.handoffs, reply.text) == ((TO_EXECUTE,), "Here is the plan.")
    function = provider.asked[0].body["tools"][0]["function"]
    assert function["parameters"]["properties"]["intent"]["enum"] == ["EXECUTE"]
    assert "EXECUTE: Does the work." in function["description"]
    assert reply.tools == ()


def test_undeclared_handoffs_are_refused(planner: AgentRunnable, provider: FakeProvider) -> None:
    for arguments in ({"intent": "COMMIT"}, {}, {"intent": 5}):
        provider.play(Calls(("hand_off", arguments)), Text("Well then."))
        reply = planner.invoke("dark mode")
        assert (reply.handoffs, reply.tools[0].failed) == ((), True)
        assert provider.asked[1].newest.endswith("intent must be one of: EXECUTE")


def test_an_agent_without_handoffs_offers_none_and_a_provider_may_refuse_them(
    make_agent: MakeAgent, model: BaseChatModel, provider: FakeProvider, planner: AgentRunnable
) -> None:
    provider.play(Text("Done."))
    reply = make_agent("EXECUTE").as_runnable(model).invoke("go")
    assert provider.asked[0].tools == []
    assert (reply.handoffs, reply.notes) == ((), ())
    provider.play(Failure(400, "this model does not support tools"), Text("The plan."))
    reply = planner.invoke("dark mode")
    assert (reply.text, provider.asked[1].tools) == ("The plan.", [])
    assert reply.notes == ("no handoffs: the model takes no tools",)


def _answer(message: dict[str, Any], usage: Any = None) -> dict[str, Any]:
    choice = {"index": 0, "message": {"role": "assistant", **message}, "finish_reason": "stop"}
    return {"id": "1", "object": "chat.completion", "created": 1, "model": "m", "usage": usage,
            "choices": [choice]}  # fmt: skip


def test_calls_without_an_id_and_half_of_a_surrogate_pair_do_no_harm(
    planner: AgentRunnable, provider: FakeProvider, make_agent: MakeAgent, model: BaseChatModel
) -> None:
    function = {"name": "hand_off", "arguments": '{"intent": "EXECUTE"}'}
    call = {"id": None, "type": "function", "function": function}
    provider.play(wrong_shape(_answer({"content": None, "tool_calls": [call]})), Text("The plan."))
    reply = planner.invoke("dark mode")
    assert [handoff.intent for handoff in reply.handoffs] == ["EXECUTE"]
    asked, told = provider.asked[1].messages[-2:]
    assert asked["tool_calls"][0]["id"] == told["tool_call_id"] != ""
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
    planner: AgentRunnable, provider: FakeProvider, message: dict[str, Any], usage: Any
) -> None:
    body = json.dumps(_answer(message, usage)).encode()
    provider.play(Raw(body), default=Text("ok"))
    with suppress(ModelError):
        reply = planner.invoke("dark mode")
        assert isinstance(reply, AgentReply)
        json.dumps(reply.as_dict(), ensure_ascii=False).encode()
