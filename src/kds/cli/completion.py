"""What the shell completes on TAB, besides commands, options and files."""

import importlib
from collections.abc import Callable, Iterable
from typing import Any, Final

import click

import kds
from kds.brain.errors import KdsError
from kds.brain.workspace import Workspace

Complete = Callable[[click.Context, click.Parameter, str], list[str]]


def completed_by(kind: str) -> Complete:
    """Complete with the names of ``kind``, one of NAMES."""

    def complete(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[str]:
        workspace = ctx.params["workspace"]
        try:
            names = list(NAMES[kind](workspace)) if workspace else []
        except KdsError:  # the command itself will say what is wrong
            return []
        return [name for name in names if name.startswith(incomplete)]

    return complete


def _library(workspace: Workspace) -> "kds.PromptLibrary":
    return kds.PromptLibrary.load(workspace.prompts_dir)


def _intents(workspace: Workspace) -> Iterable[str]:
    return (agent.intent for agent in _library(workspace).agents() if agent.intent)


def _agents(workspace: Workspace) -> Iterable[str]:
    return (*(agent.name for agent in _library(workspace).agents()), *_intents(workspace))


def _sessions(workspace: Workspace) -> Iterable[str]:
    # late: opening the memory costs imports that only who presses TAB is to pay
    memory = importlib.import_module("kds.brain.memory.memory_place")
    names = importlib.import_module("kds.api.session_names")
    with memory.MemoryPlace.of(workspace).if_any() as store:
        sessions = names.all_sessions(store) if store else ()
        return ["last", *(one.id for one in sessions), *(one.title for one in sessions)]


def _learning(workspace: Workspace) -> Any:
    return importlib.import_module("kds.learning").Learning(workspace)


NAMES: Final[dict[str, Callable[[Workspace], Iterable[str]]]] = {
    "prompts": lambda place: (prompt.name for prompt in _library(place).prompts()),
    "agents": _agents,
    "intents": _intents,
    "sessions": _sessions,
    "settings": lambda _: importlib.import_module("kds.api.settings_keys").KEYS,
    "learned": lambda place: (one.id for one in _learning(place).file.entries()),
}
