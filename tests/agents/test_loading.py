"""Agents by name: which one, with which model."""

from pathlib import Path

import pytest
from langchain_openai import ChatOpenAI

from kds import agents
from kds.brain.errors import WorkspaceError
from kds.brain.workspace import Workspace

from .openai_server import FakeProvider


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
