"""The router and the agents in a real LangGraph graph."""

import asyncio
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Annotated, Any

import pytest
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import HumanMessage
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import END, START, MessagesState, StateGraph

from kds.agents import (
    Agent,
    AgentState,
    Handoff,
    agent_node,
    handoff_of,
    intent_of,
    router_node,
)
from kds.brain.errors import MessageError
from kds.brain.turn import Turn

from .openai_server import Calls, FakeProvider, Text

MakeAgent = Callable[..., Agent]


def route(message: str) -> Turn:
    """As the router does, for two intents; anything else it would ask back."""
    if not message:
        raise MessageError("the message is empty")
    intent = "PLAN" if "want" in message else "EXECUTE"
    action: Any = "clarify" if "?" in message else "route"
    return Turn(message, datetime.now(UTC), expanded=message, intent=intent, action=action)


@pytest.fixture
def graph(make_agent: MakeAgent, model: BaseChatModel) -> Any:
    built = StateGraph(AgentState)
    built.add_node("router", router_node(route))
    built.add_node("PLAN", agent_node(make_agent("PLAN").as_runnable(model)))
    built.add_node("EXECUTE", agent_node(make_agent("EXECUTE").as_runnable(model)))
    built.add_edge(START, "router")
    ends = {"PLAN": "PLAN", "EXECUTE": "EXECUTE", "UNKNOWN": END}
    built.add_conditional_edges("router", intent_of, ends)
    built.add_conditional_edges("PLAN", handoff_of, ["EXECUTE", END])
    built.add_edge("EXECUTE", END)
    return built.compile()


def test_a_message_goes_to_the_agent_of_its_intent(graph: Any, provider: FakeProvider) -> None:
    provider.play(default=Text("Done."))
    state = graph.invoke({"message": "make it purple"})
    assert (state["intent"], state["reply"].agent) == ("EXECUTE", "code-executor")
    assert provider.asked[0].messages[0]["content"] == "Do this as EXECUTE: make it purple"
    assert asyncio.run(graph.ainvoke({"message": "I want a FAB"}))["reply"].agent == "work-planner"


def test_work_is_handed_on_within_the_graph(graph: Any, provider: FakeProvider) -> None:
    provider.play(Calls(("hand_off", {"intent": "EXECUTE"}), text="The plan."), Text("Done."))
    state = graph.invoke({"message": "I want a FAB"})
    assert [reply.text for reply in state["replies"]] == ["The plan.", "Done."]
    assert state["replies"][0].handoffs == (Handoff("EXECUTE", "code-executor"),)
    assert provider.asked[1].messages[0]["content"] == "Do this as EXECUTE: I want a FAB"


def test_what_the_router_asks_back_reaches_no_agent(graph: Any, provider: FakeProvider) -> None:
    state = graph.invoke({"message": "hm?"})
    assert (state["intent"], "reply" in state, provider.asked) == ("UNKNOWN", False, [])


def test_tokens_stream_out_of_the_graph(graph: Any, provider: FakeProvider) -> None:
    provider.play(Text("One two three."))
    pieces = [
        chunk.text
        for chunk, _ in graph.stream({"message": "make it purple"}, stream_mode="messages")
        if chunk.text
    ]
    assert "".join(pieces[:3]) == "One two three."


class Chat(MessagesState):
    turn: Annotated[Turn, None]
    intent: str


def test_a_state_of_messages_is_a_conversation(
    make_agent: MakeAgent, model: BaseChatModel, provider: FakeProvider
) -> None:
    built = StateGraph(Chat)
    built.add_node("router", router_node(route))
    built.add_node("executor", agent_node(make_agent("EXECUTE").as_runnable(model)))
    built.add_edge(START, "router")
    built.add_edge("router", "executor")
    chat = built.compile(checkpointer=InMemorySaver())
    config: Any = {"configurable": {"thread_id": "1"}}
    provider.play(Text("First."), Text("Second."))
    chat.invoke({"messages": [HumanMessage("make it purple")]}, config)
    state = chat.invoke({"messages": [HumanMessage("and round")]}, config)
    assert [message.text for message in state["messages"]] == [
        "make it purple", "First.", "and round", "Second.",
    ]  # fmt: skip
    assert state["messages"][-1].name == "code-executor"
    assert state["turn"].message == "and round"


def test_a_state_without_a_message_is_refused() -> None:
    with pytest.raises(MessageError):
        router_node(route).invoke({"intent": "PLAN"})
