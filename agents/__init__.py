"""Agents made from prompt files, and their LangChain interface.

`RouterRunnable` is loaded when it is first used (PEP 562): importing this package does not
import langchain_core, which costs about half a second.
"""

import importlib
from typing import TYPE_CHECKING

from kds.agents.agent import Agent

if TYPE_CHECKING:
    from kds.agents.runnable import RouterRunnable

__all__ = ["Agent", "RouterRunnable"]


def __getattr__(name: str) -> object:
    """Load the adapter at its first use."""
    if name == "RouterRunnable":
        return importlib.import_module("kds.agents.runnable").RouterRunnable
    raise AttributeError(f"module '{__name__}' has no attribute '{name}'")
