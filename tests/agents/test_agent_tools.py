"""Tools by name: offered, called, limited; and what is told of those that fail."""

import asyncio
import threading
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from langchain_core.language_models import BaseChatModel
from langchain_core.language_models.fake_chat_models import FakeListChatModel
from langchain_core.tools import tool

from kds import agents
from kds.agents import Agent, ModelError, ToolUse, Usage
from kds.agents.run import MOST_ROUNDS
from kds.agents.tools import chosen_tools, conversation_tool, workspace_tools
from kds.brain.documents.store import DocumentPlace
from kds.brain.errors import DispatchError
from kds.brain.memory.memory_store import RECALL, MemoryPlace
from kds.brain.turn import ContextEntry, Turn
from kds.brain.workspace import Workspace
from kds.documents.indexing import add_documents

from .openai_server import Calls, FakeProvider, Text

MakeAgent = Callable[..., Agent]
NOW = datetime(2025, 11, 3, tzinfo=UTC)
KEEPER = """\
---
name: record-keeper
description: Looks things up.
intent: LOOK
tools: [{tools}]
inputs: [expanded]
---
Look up {{{{ expanded }}}}
"""


@tool
def add(a: int, b: int) -> int:
    """Add two numbers."""
    return a + b


@tool
def fail(why: str) -> str:
    """Fail."""
    raise RuntimeError(f"no: {why}")


@pytest.fixture
def keeper(make_agent: MakeAgent) -> Callable[[str], Agent]:
    return lambda tools: make_agent("record-keeper", KEEPER.format(tools=tools))


def test_a_tool_is_called_and_the_model_told_in_streams_and_event_loops_too(
    keeper: Callable[[str], Agent], model: BaseChatModel, provider: FakeProvider
) -> None:
    agent = keeper("add").as_runnable(model, tools=[add, fail])
    script = Calls(("add", {"a": 2, "b": 3}), text="Let me see."), Text("It is 5.")
    provider.play(*script)
    reply = agent.invoke("2 + 3")
    assert provider.asked[0].tools == ["add"]
    told = provider.asked[1].messages[-1]
    assert (told["role"], told["content"]) == ("tool", "5")
    assert reply.tools == (ToolUse("add", {"a": 2, "b": 3}, "5"),)
    assert reply.text == "Let me see.\n\nIt is 5."
    assert reply.usage == Usage(24, 10, 34)

    async def streamed() -> str:
        return "".join([piece.text async for piece in agent.astream("2 + 3")])

    provider.play(*script)
    assert "".join(piece.text for piece in agent.stream("2 + 3")) == "Let me see.\n\nIt is 5."
    provider.play(*script)
    assert asyncio.run(streamed()) == "Let me see.\n\nIt is 5."
    provider.play(*script)
    assert asyncio.run(agent.ainvoke("2 + 3")).tools[0].result == "5"


@pytest.mark.parametrize(
    ("call", "told"),
    [
        (("fail", {"why": "broken"}), "RuntimeError: no: broken"),
        (("add", {"a": "two", "b": 3}), "validation error"),
        (("add", '{"a": 2, '), "the arguments are not JSON"),
        (("shred", {"path": "/"}), "unknown tool; the tools are: add, fail"),
    ],
)
def test_what_goes_wrong_with_a_tool_is_told_to_the_model(
    keeper: Callable[[str], Agent], model: BaseChatModel, provider: FakeProvider,
    call: tuple[str, dict[str, object]], told: str,
) -> None:  # fmt: skip
    agent = keeper("add, fail").as_runnable(model, tools=[add, fail])
    for run in (agent.invoke, lambda given: asyncio.run(agent.ainvoke(given))):
        provider.play(Calls(call), Text("I could not."))
        reply = run("2 + 3")
        assert (reply.text, reply.tools[0].failed) == ("I could not.", True)
        assert told in provider.asked[1].newest
        assert told in reply.tools[0].result


def test_rounds_of_tools_are_limited(
    keeper: Callable[[str], Agent], model: BaseChatModel, provider: FakeProvider
) -> None:
    provider.play(default=Calls(("add", {"a": 1, "b": 1})))
    reply = keeper("add").as_runnable(model, tools=[add]).invoke("go on for ever")
    assert len(provider.asked) == MOST_ROUNDS
    assert f"stopped after {MOST_ROUNDS} rounds of tools" in reply.notes


def test_a_tool_that_hangs_ends_with_the_turn_and_one_for_event_loops_runs_in_one(
    keeper: Callable[[str], Agent], model: BaseChatModel, provider: FakeProvider
) -> None:
    never = threading.Event()

    @tool
    def wait() -> str:
        """Wait."""
        never.wait()
        return "done"

    agent = keeper("wait").as_runnable(model, tools=[wait], timeout_s=0.2)
    for run in (agent.invoke, lambda given: asyncio.run(agent.ainvoke(given))):
        provider.play(Calls(("wait", {})), Text("too late"))
        with pytest.raises(ModelError, match="did not answer within"):
            run("wait")
    never.set()

    @tool
    async def look() -> str:
        """Look."""
        await asyncio.sleep(0)
        return "seen"

    agent = keeper("look").as_runnable(model, tools=[look])
    for run in (agent.invoke, lambda given: asyncio.run(agent.ainvoke(given))):
        provider.play(Calls(("look", {})), Text("done"))
        assert run("look").tools[0].result == "seen"


def test_what_is_not_a_tool_is_refused(keeper: Callable[[str], Agent], workspace: Path) -> None:
    with pytest.raises(DispatchError, match="names the tool 'ad', which was not passed") as caught:
        keeper("ad").as_runnable(tools=[add])
    assert str(caught.value.where).endswith("record-keeper.md:5")
    assert caught.value.hint == "did you mean add?"
    given: tuple[Any, ...] = ("run", print, {"name": "run"})
    for one in given:
        with pytest.raises(DispatchError, match=f"not a tool: {type(one).__name__}") as caught:
            agents.load("PLAN", tools=[one])
        assert "@tool" in str(caught.value.hint)
    agent = keeper("add").as_runnable(FakeListChatModel(responses=["x"]), tools=[add])
    with pytest.raises(ModelError, match="FakeListChatModel takes no tools"):
        agent.invoke("2 + 3")


def test_the_conversation_can_be_read(
    keeper: Callable[[str], Agent], model: BaseChatModel, provider: FakeProvider
) -> None:
    turn = Turn("x", NOW, expanded="x", context=(ContextEntry(NOW, "I want a FAB", "PLAN"),))
    provider.play(Calls(("read_conversation", {})), Text("A FAB."))
    reply = keeper("read_conversation").as_runnable(model).invoke(turn)
    assert reply.tools[0].result == "2025-11-03 00:00 PLAN: I want a FAB"
    assert conversation_tool(Turn("x", NOW)).invoke({}) == "nothing was said before"


def test_memory_and_documents_are_searched(keeper: Callable[[str], Agent], tmp_path: Path) -> None:
    workspace = Workspace(tmp_path, tmp_path / "kds-brain")
    place = MemoryPlace.of(workspace)
    given = workspace_tools(workspace)
    tools, _ = chosen_tools(keeper("search_memory, search_documents").prompt, given)
    found = tools["search_memory"]
    assert found.invoke({"query": "port"}) == "nothing is remembered yet"
    assert not place.exists
    with place.open() as store:
        session = store.create_session(title="Ports")
        store.append(session.id, "user", "Staging uses port 8443.", speaker="Ada")
    assert "Ada] Staging uses port 8443." in found.invoke({"query": "port"})
    assert found.invoke({"query": "zebra"}) == "nothing was found"
    with place.open() as store:
        assert {one.data["surface"] for one in store.metrics.since(NOW, name=RECALL)} == {"agent"}
    assert tools["search_documents"].invoke({"query": "notice"}) == "no documents are indexed yet"
    (tmp_path / "lease.md").write_text("# Lease\n\nNotice is a month.\n")
    with DocumentPlace.of(workspace).open() as documents:
        add_documents(documents, [tmp_path / "lease.md"])
    text = tools["search_documents"].invoke({"query": "notice", "limit": 2})
    assert text == "[Lease] Notice is a month."
