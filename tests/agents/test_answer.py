"""What a model answers beside text: handing on, and what servers make of it."""

from typing import Any

from langchain_core.language_models import BaseChatModel

from kds.agents import AgentRunnable, Handoff

from .conftest import MakeAgent
from .openai_server import Calls, Failure, FakeProvider, Text, wrong_shape

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
