"""Prompt files: `*.prompt.md` of VS Code, and the commands of Cursor."""

from pathlib import PurePosixPath
from typing import Final

from kds.brain.installation import kds_version
from kds.clients.generated import (
    MAX_DESCRIPTION,
    PREFIX,
    GeneratedFile,
    file_name,
    front_door,
    shortened,
    with_front_matter,
)
from kds.clients.mark import mark_comment, stamped
from kds.clients.placeholders import called_agents, render_static
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


def _prompt_file(library: PromptLibrary, prompt: PromptFile) -> GeneratedFile:
    fields = {
        "description": shortened((prompt.description,), MAX_DESCRIPTION),
        "agent": "agent",
        "argument-hint": "what you want, in plain words",
    }
    body = render_static(library, prompt, prefix=PREFIX, message=INPUT)
    text = with_front_matter(fields, f"{body}\n\n{mark_comment(kds_version(), prompt.ref)}")
    return GeneratedFile(PurePosixPath(f"{file_name(prompt)}.prompt.md"), stamped(text))


def _command(library: PromptLibrary, prompt: PromptFile) -> GeneratedFile:
    body = render_static(library, prompt, prefix=PREFIX, message=COMMAND_TEXT)
    text = f"{body}\n\n{mark_comment(kds_version(), prompt.ref)}\n"
    return GeneratedFile(PurePosixPath(f"{file_name(prompt)}.md"), stamped(text))
