"""Agent skills (agentskills.io) from the prompt library: the front door, and one per agent."""

from pathlib import PurePosixPath
from typing import Final

from kds.clients.generated.generated_file import (
    FRONT_DOOR,
    MAX_DESCRIPTION,
    PREFIX,
    GeneratedFile,
    file_name,
    front_door,
    shortened,
    with_front_matter,
)
from kds.clients.generated.mark import mark_fields, stamped
from kds.clients.generated.placeholders import called_agents, render_static
from kds.clients.table import Client
from kds.router.prompts.library import PromptLibrary
from kds.router.prompts.promptfile import PromptFile

ROUTING_TOOLS: Final = ("Bash(kds route *)", "mcp__kds__route_message")
"""What the front door may call without asking, in the spelling of Claude Code."""


def skill_files(library: PromptLibrary, *, client: Client | None = None) -> list[GeneratedFile]:
    """Every skill as `<name>/SKILL.md`.

    With ``client`` "claude" an agent that needs a confirmation also gets the key by which
    Claude Code leaves calling it to the user (the specification has no such key), and the
    front door may route without asking. Raises DispatchError when a prompt cannot be rendered.
    """
    door = front_door(library)
    files = [_skill(library, door, description=_when_first(door), client=client)]
    for agent in called_agents(library):
        files.append(_skill(library, agent, description=_when_named(agent), client=client))
    return files


def _skill(
    library: PromptLibrary, prompt: PromptFile, *, description: str, client: Client | None
) -> GeneratedFile:
    name = file_name(prompt)
    only_by_user = prompt.confirm and client == "claude"
    routes = prompt.name == FRONT_DOOR and client == "claude"
    fields = {
        "name": name,
        "description": description,
        **({"disable-model-invocation": True} if only_by_user else {}),
        **({"allowed-tools": " ".join(ROUTING_TOOLS)} if routes else {}),
        "metadata": dict(mark_fields(prompt.ref)),
    }
    text = with_front_matter(fields, render_static(library, prompt))
    return GeneratedFile(PurePosixPath(name, "SKILL.md"), stamped(text))


def _when_first(door: PromptFile) -> str:
    use = (
        "Use it first, before any other skill, whenever the user asks for work on the project: "
        "to plan, add, build, change, continue, correct, test, check or commit something, to "
        "answer a question about it, or to resolve what 'it' or 'that' means. Not when KDS has "
        "already read this message."
    )
    return shortened((door.description, use), MAX_DESCRIPTION)


def _when_named(agent: PromptFile) -> str:
    caution = " The user must have asked for exactly this." if agent.confirm else ""
    use = (
        f"Use it when KDS reads a message as {agent.intent} and its instructions are not at hand "
        f"yet, or when the user names {file_name(agent)}; for anything else begin with the "
        f"skill {PREFIX.rstrip('-')}.{caution}"
    )
    description = shortened((agent.description,), MAX_DESCRIPTION - len(use) - 1)
    return f"{description} {use}"
