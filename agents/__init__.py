"""Agents made from prompt files, and their LangChain interface.

    from kds import agents

    agents.load("PLAN").invoke("I want to add a FAB button")

Names are loaded when they are first used (PEP 562): importing this package does not import
langchain_core, which costs about half a second.
"""

import importlib
from typing import TYPE_CHECKING

from kds.agents.agent import Agent

if TYPE_CHECKING:
    from kds.agents.agent import AgentReply as AgentReply
    from kds.agents.agent import Handoff as Handoff
    from kds.agents.agent import ToolUse as ToolUse
    from kds.agents.agent import Usage as Usage
    from kds.agents.models import ModelError as ModelError
    from kds.agents.models import load_chat_model as load_chat_model
    from kds.agents.run import AgentRunnable as AgentRunnable
    from kds.agents.run import load as load
    from kds.agents.run import names as names
    from kds.agents.run import router_runnable as router_runnable
    from kds.brain.settings import ModelSettings as ModelSettings

_HOMES = {
    "kds.agents.agent": "AgentReply Handoff ToolUse Usage",
    "kds.agents.models": "ModelError load_chat_model",
    "kds.agents.run": "AgentRunnable load names router_runnable",
    "kds.brain.settings": "ModelSettings",
}
"""Module -> the public names that live there. A test holds it equal to the imports above."""

_HOME_OF = {name: home for home, names in _HOMES.items() for name in names.split()}

__all__ = ["Agent", *_HOME_OF]


def __getattr__(name: str) -> object:
    """Load a public name from its module at its first use."""
    home = _HOME_OF.get(name)
    if home is None:
        raise AttributeError(f"module '{__name__}' has no attribute '{name}'")
    value = getattr(importlib.import_module(home), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    """List the public names, loaded or not."""
    return sorted({*globals(), *_HOME_OF})
