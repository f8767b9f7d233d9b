import ast
import subprocess
import sys
from datetime import UTC, datetime
from pathlib import Path

import pytest

import kds.agents
from kds.agents import Agent
from kds.brain.errors import DispatchError
from kds.brain.turn import Turn
from kds.router.library import PromptLibrary


@pytest.fixture
def library(tmp_path: Path) -> PromptLibrary:
    (tmp_path / "internal").mkdir()
    (tmp_path / "internal/work-planner.md").write_text(
        "---\nname: work-planner\ndescription: Plans.\nintent: PLAN\n"
        "inputs: [message, workspace]\n---\nPlan {{ message }} in {{ workspace }}\n"
    )
    return PromptLibrary.from_roots([tmp_path])


def test_an_agent_renders_its_prompt_for_a_turn(library: PromptLibrary) -> None:
    agent = Agent.for_intent("PLAN", library, workspace="/w")
    turn = Turn("dark mode", datetime(2025, 11, 3, tzinfo=UTC))
    assert (agent.name, agent.intent) == ("work-planner", "PLAN")
    assert agent.render(turn) == "Plan dark mode in /w"


def test_an_intent_without_an_agent_is_an_error(library: PromptLibrary) -> None:
    with pytest.raises(DispatchError, match="no agent for intent 'DANCE'"):
        Agent.for_intent("DANCE", library, workspace="/w")


def test_importing_the_package_does_not_import_langchain() -> None:
    code = "import kds.agents, sys; sys.exit('langchain_core' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def test_an_unknown_name_of_the_package_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="no attribute 'Nothing'"):
        _ = kds.agents.Nothing


def test_the_names_for_type_checkers_are_the_lazy_ones() -> None:
    tree = ast.parse(Path(kds.agents.__file__).read_text())
    guarded = next(node for node in tree.body if isinstance(node, ast.If))
    declared = {
        (alias.asname, node.module)
        for node in guarded.body
        if isinstance(node, ast.ImportFrom)
        for alias in node.names
    }
    assert declared == set(kds.agents._HOME_OF.items())


@pytest.mark.parametrize("name", sorted(kds.agents._HOME_OF))
def test_every_public_name_can_be_imported(name: str) -> None:
    assert getattr(kds.agents, name) is not None
    assert name in dir(kds.agents)


def test_values_and_errors_come_without_langchain() -> None:
    code = (
        "from kds.agents import AgentReply, Deadline, ModelError, load_chat_model; import sys;"
        "sys.exit('langchain_core' in sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def test_an_agent_is_found_by_intent_and_by_name(library: PromptLibrary) -> None:
    for name in ("PLAN", "work-planner"):
        assert Agent.named(name, library, workspace="/w").name == "work-planner"
    with pytest.raises(DispatchError, match="no prompt file 'work-plannr'"):
        Agent.named("work-plannr", library, workspace="/w")


def test_a_message_makes_a_turn_of_its_own(library: PromptLibrary) -> None:
    agent = Agent.named("PLAN", library, workspace="/w")
    turn = agent.turn(" dark mode ", clock=lambda: datetime(2025, 11, 3, tzinfo=UTC))
    assert (turn.message, turn.expanded, turn.intent) == ("dark mode", "dark mode", "PLAN")
    assert (turn.action, turn.agent, turn.prompt) == (
        "route",
        "work-planner",
        "Plan dark mode in /w",
    )
    assert agent.taking(turn) is turn
