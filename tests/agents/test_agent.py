import subprocess
import sys
from datetime import UTC, datetime
from pathlib import Path

import pytest

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
    import kds.agents

    with pytest.raises(AttributeError, match="no attribute 'Nothing'"):
        _ = kds.agents.Nothing
