"""Agents by name, and as tools for other agents: LangChain's suites, and what is particular."""

import asyncio
from pathlib import Path
from typing import Any

import pytest
from langchain_core.messages import ToolCall
from langchain_core.tools import BaseTool
from langchain_openai import ChatOpenAI
from langchain_tests.integration_tests import ToolsIntegrationTests
from langchain_tests.unit_tests import ToolsUnitTests

from kds import agents
from kds.brain.errors import WorkspaceError
from kds.brain.workspace import Workspace

from .openai_server import Failure, FakeProvider, Text

CALL: ToolCall = {"name": "x", "args": {"message": "dark mode"}, "id": "1", "type": "tool_call"}


class _Example:
    @pytest.fixture(autouse=True)
    def _places(self, workspace: Path, provider: FakeProvider) -> None:
        provider.play(default=Text("Step one."))
        self.model: str | None = None

    @property
    def tool_constructor(self) -> BaseTool:
        return agents.as_tool("work-planner", model=self.model)

    @property
    def tool_invoke_params_example(self) -> dict[str, Any]:
        return {"message": "I want to add a FAB button"}


class TestUnit(_Example, ToolsUnitTests):
    """Without a model: the prompt is what comes back."""


@pytest.mark.anyio
class TestIntegration(_Example, ToolsIntegrationTests):
    """Without a model, once more; the async half needs an event loop."""


@pytest.mark.anyio
class TestIntegrationWithAModel(_Example, ToolsIntegrationTests):
    @pytest.fixture(autouse=True)
    def _with_model(self, _places: None, provider: FakeProvider) -> None:
        self.model = f"{provider.url}#m"


def test_agents_are_listed_by_priority(workspace: Path) -> None:
    names = agents.names()
    assert names[0] == "error-corrector"
    assert {"work-planner", "code-executor"} < set(names)


def test_an_agent_is_found_by_intent_and_by_name(workspace: Path) -> None:
    assert agents.load("PLAN").agent.name == "work-planner"
    assert agents.load("work-planner", str(workspace)).agent.intent == "PLAN"
    assert agents.load("TEST", Workspace.find()).agent.name == "test-generator"
    with pytest.raises(WorkspaceError):
        agents.load("PLAN", workspace / "nowhere")


def test_a_file_of_the_workspace_is_an_agent_at_once(workspace: Path) -> None:
    folder = workspace / "prompts" / "internal"
    folder.mkdir(parents=True)
    (folder / "song-writer.md").write_text(
        "---\nname: song-writer\ndescription: Sings.\ninputs: [message]\n---\nSing {{ message }}\n"
    )
    reply = agents.load("song-writer").invoke("of the sea")
    assert (reply.text, reply.intent) == ("Sing of the sea", "UNKNOWN")


def test_the_model_is_the_one_that_the_user_has_set(
    workspace: Path, provider: FakeProvider, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert agents.load("PLAN").model is None
    monkeypatch.setenv("KDS_MODEL", f"{provider.url}#mine")
    monkeypatch.setenv("KDS_MODEL_TIMEOUT_S", "7")
    loaded = agents.load("PLAN")
    assert isinstance(loaded.model, ChatOpenAI)
    assert (loaded.model.model_name, loaded.timeout_s) == ("mine", 7)
    other = ChatOpenAI(base_url=provider.url, api_key="k", model="other")
    assert agents.load("PLAN", model=other).model is other
    assert agents.load("PLAN", model=f"{provider.url}#third").model != loaded.model


def test_a_tool_returns_the_text_and_the_reply(workspace: Path, provider: FakeProvider) -> None:
    provider.play(default=Text("Step one."))
    tool = agents.as_tool("work-planner", model=f"{provider.url}#m")
    assert tool.invoke({"message": "dark mode"}) == "Step one."
    message = tool.invoke(CALL)
    assert (message.content, message.artifact.agent) == ("Step one.", "work-planner")
    assert asyncio.run(tool.ainvoke(CALL)).artifact.answered
    assert tool.description == agents.load("PLAN").agent.prompt.description


def test_what_goes_wrong_is_told_to_the_caller(workspace: Path, provider: FakeProvider) -> None:
    provider.play(default=Failure(404, "no such model"))
    tool = agents.as_tool(agents.load("PLAN", model=f"{provider.url}#m"))
    for message in (tool.invoke(CALL), asyncio.run(tool.ainvoke(CALL))):
        assert message.status == "error"
        assert message.content.startswith("m refused (404): no such model\n  fix: ")
