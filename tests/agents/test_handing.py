"""Handing on: by the tool, and to declared intents only."""

from collections.abc import Callable

import pytest
from langchain_core.language_models import BaseChatModel

from kds.agents import Agent, Handoff

from .openai_server import Calls, Failure, FakeProvider, Text

MakeAgent = Callable[..., Agent]
TO_EXECUTE = Handoff("EXECUTE", "code-executor", "the plan is agreed")


def test_the_model_can_hand_on_with_a_tool(
    make_agent: MakeAgent, model: BaseChatModel, provider: FakeProvider
) -> None:
    call = ("hand_off", {"intent": "EXECUTE", "reason": "the plan is agreed"})
    provider.play(Calls(call), Text("Here is the plan."))
    reply = make_agent().as_runnable(model).invoke("dark mode")
    assert (reply.handoffs, reply.text) == ((TO_EXECUTE,), "Here is the plan.")
    function = provider.asked[0].body["tools"][0]["function"]
    assert function["parameters"]["properties"]["intent"]["enum"] == ["EXECUTE"]
    assert "EXECUTE: Does the work." in function["description"]
    assert reply.tools == ()


@pytest.mark.parametrize("arguments", [{"intent": "COMMIT"}, {}, {"intent": 5}])
def test_nobody_hands_on_to_what_is_not_declared(
    make_agent: MakeAgent, model: BaseChatModel, provider: FakeProvider,
    arguments: dict[str, object],
) -> None:  # fmt: skip
    provider.play(Calls(("hand_off", arguments)), Text("Well then."))
    reply = make_agent().as_runnable(model).invoke("dark mode")
    assert reply.handoffs == ()
    assert provider.asked[1].newest == "intent must be one of: EXECUTE"
    assert reply.tools[0].failed


def test_an_agent_without_handoffs_offers_none(
    make_agent: MakeAgent, model: BaseChatModel, provider: FakeProvider
) -> None:
    provider.play(Text("Done."))
    reply = make_agent("EXECUTE").as_runnable(model).invoke("go")
    assert provider.asked[0].tools == []
    assert (reply.handoffs, reply.notes) == ((), ())


def test_a_provider_that_refuses_the_tool_is_asked_without_it(
    make_agent: MakeAgent, model: BaseChatModel, provider: FakeProvider
) -> None:
    provider.play(Failure(400, "this model does not support tools"), Text("The plan."))
    reply = make_agent().as_runnable(model).invoke("dark mode")
    assert (reply.text, provider.asked[1].tools) == ("The plan.", [])
    assert reply.notes == ("no handoffs: the model takes no tools",)
