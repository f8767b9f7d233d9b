from datetime import UTC, datetime
from pathlib import Path

import pytest

from kds.agents import Agent
from kds.brain.errors import DispatchError
from kds.brain.turn import Turn
from kds.router.prompts.library import PromptLibrary


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
