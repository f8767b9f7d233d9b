from collections.abc import Callable
from datetime import UTC, datetime

import pytest

from kds.agents import Agent
from kds.brain.errors import DispatchError

MakeAgent = Callable[..., Agent]
WHERE = """\
---
name: place-finder
description: Finds places.
intent: FIND
inputs: [message, workspace]
---
Find {{ message }} in {{ workspace }}
"""


def test_an_intent_without_an_agent_is_an_error(make_agent: MakeAgent) -> None:
    with pytest.raises(DispatchError, match="no agent for intent 'DANCE'"):
        Agent.for_intent("DANCE", make_agent().library, workspace="/w")


def test_a_message_makes_a_turn_of_its_own_with_its_prompt(make_agent: MakeAgent) -> None:
    agent = make_agent("place-finder", WHERE)
    assert agent == Agent.for_intent("FIND", agent.library, workspace="/w")
    turn = agent.turn(" dark mode ", clock=lambda: datetime(2025, 11, 3, tzinfo=UTC))
    assert (turn.message, turn.expanded, turn.intent) == ("dark mode", "dark mode", "FIND")
    assert (turn.action, turn.agent) == ("route", agent.name)
    assert turn.prompt == agent.render(turn) == "Find dark mode in /w"
    assert agent.taking(turn) is turn
