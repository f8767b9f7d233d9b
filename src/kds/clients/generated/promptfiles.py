"""Prompt files, the commands of Cursor, and custom agents: a file of text for each prompt.

`*.prompt.md` of VS Code; `*.agent.md` of VS Code and Copilot, with handoffs from the front matter.
"""

from collections.abc import Iterable
from pathlib import PurePosixPath
from typing import Final

from kds.clients.generated.generated_file import (
    MAX_DESCRIPTION,
    GeneratedFile,
    file_name,
    front_door,
    shortened,
    with_front_matter,
)
from kds.clients.generated.mark import mark_comment, stamped
from kds.clients.generated.placeholders import called_agents, render_static
from kds.clients.table import Client
from kds.router.prompts.library import PromptLibrary
from kds.router.prompts.promptfile import PromptFile

INPUT: Final = "${input:message:What do you want to do?}"
"""VS Code asks for it, or takes what stands behind the command (its prompt file format)."""

COMMAND_TEXT: Final = "What the user wrote behind the command."
"""Cursor adds that text to the command by itself; a command has no variables."""


def prompt_files(library: PromptLibrary, *, client: Client | None = None) -> list[GeneratedFile]:
    """One prompt file for the front door and for each agent; Cursor's commands for "cursor".

    Raises DispatchError when a prompt cannot be rendered.
    """
    prompts = (front_door(library), *called_agents(library))
    make = _command if client == "cursor" else _prompt_file
    return [make(library, prompt) for prompt in prompts]


def agent_files(library: PromptLibrary) -> list[GeneratedFile]:
    """The front door, which hands over to every agent, and each agent with its own handoffs.

    Raises DispatchError when a prompt cannot be rendered.
    """
    agents = called_agents(library)
    files = [_agent(library, front_door(library), agents)]
    for agent in agents:
        targets = [target for target in map(library.for_intent, agent.handoffs) if target]
        files.append(_agent(library, agent, [t for t in targets if t in agents]))
    return files


def _prompt_file(library: PromptLibrary, prompt: PromptFile) -> GeneratedFile:
    fields = {
        "description": shortened((prompt.description,), MAX_DESCRIPTION),
        "agent": "agent",
        "argument-hint": "what you want, in plain words",
    }
    text = with_front_matter(fields, _body(library, prompt, message=INPUT))
    return _file(prompt, ".prompt.md", text)


def _command(library: PromptLibrary, prompt: PromptFile) -> GeneratedFile:
    return _file(prompt, ".md", _body(library, prompt, message=COMMAND_TEXT) + "\n")


def _agent(
    library: PromptLibrary, prompt: PromptFile, targets: Iterable[PromptFile]
) -> GeneratedFile:
    handoffs = [_handoff(target) for target in targets]
    fields = {
        "name": file_name(prompt),
        "description": shortened((prompt.description,), MAX_DESCRIPTION),
        **({"disable-model-invocation": True} if prompt.confirm else {}),
        **({"handoffs": handoffs} if handoffs else {}),
    }
    return _file(prompt, ".agent.md", with_front_matter(fields, _body(library, prompt)))


def _handoff(target: PromptFile) -> dict[str, object]:
    """A button below the answer. Nothing is sent before the user has read the message."""
    wish = target.ask or target.name.replace("-", " ")
    return {
        "label": f"{wish[0].upper()}{wish[1:]}",
        "agent": file_name(target),
        "prompt": f"Go on from here: {wish}.",
        "send": False,
    }


def _body(library: PromptLibrary, prompt: PromptFile, **given: str) -> str:
    body = render_static(library, prompt, **given)
    return f"{body}\n\n{mark_comment(prompt.ref)}"


def _file(prompt: PromptFile, suffix: str, text: str) -> GeneratedFile:
    return GeneratedFile(PurePosixPath(f"{file_name(prompt)}{suffix}"), stamped(text))
