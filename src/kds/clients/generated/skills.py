"""Agent skills (agentskills.io): the one of `kds init`, and those of the prompt library."""

from importlib.resources import files
from pathlib import PurePosixPath
from typing import Final

import yaml

from kds.clients.generated.generated_file import (
    FRONT_DOOR,
    MAX_DESCRIPTION,
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

ONE_SKILL: Final = "skill.md"
"""Its text. Clients list name and description in each request: 60 tokens at most."""

_COMMAND_MARK: Final = "@KDS@"


def one_skill(kds: str, *, client: Client | None = None) -> GeneratedFile:
    """The skill `kds`, to be used when the user asks for it.

    ``kds`` is the program as a shell calls it. With ``client`` "claude" it may route without
    asking, as in `skill_files`.
    """
    text = files(__package__).joinpath(ONE_SKILL).read_text(encoding="utf-8")
    _, front, body = text.replace(_COMMAND_MARK, kds).split("---\n", 2)
    fields = yaml.safe_load(front) | _may_route(kds, client)
    marked = with_front_matter({**fields, "metadata": dict(mark_fields(ONE_SKILL))}, body.strip())
    return GeneratedFile(PurePosixPath(FRONT_DOOR, "SKILL.md"), stamped(marked))


def is_one_skill(text: str) -> bool:
    """Whether a generated text is the skill of `one_skill`, in whatever version."""
    return f"\n  source: {ONE_SKILL}\n" in text


def skill_files(library: PromptLibrary, *, client: Client | None = None) -> list[GeneratedFile]:
    """Every skill as `<name>/SKILL.md`.

    With ``client`` "claude" an agent that needs a confirmation also gets the key by which
    Claude Code leaves calling it to the user (the specification has no such key), and the
    front door may route without asking. Raises DispatchError when a prompt cannot be rendered.
    """
    door = front_door(library)
    made = [_skill(library, door, description=_when_asked(door), client=client)]
    for agent in called_agents(library):
        made.append(_skill(library, agent, description=_when_named(agent), client=client))
    return made


def _skill(
    library: PromptLibrary, prompt: PromptFile, *, description: str, client: Client | None
) -> GeneratedFile:
    name = file_name(prompt)
    only_by_user = prompt.confirm and client == "claude"
    fields = {
        "name": name,
        "description": description,
        **({"disable-model-invocation": True} if only_by_user else {}),
        **(_may_route("kds", client) if prompt.name == FRONT_DOOR else {}),
        "metadata": dict(mark_fields(prompt.ref)),
    }
    text = with_front_matter(fields, render_static(library, prompt))
    return GeneratedFile(PurePosixPath(name, "SKILL.md"), stamped(text))


def _may_route(kds: str, client: Client | None) -> dict[str, str]:
    """What the front door may call without asking, in the spelling of Claude Code."""
    if client != "claude":
        return {}
    return {"allowed-tools": f"Bash({kds} route *) mcp__kds__route_message"}


def _when_asked(door: PromptFile) -> str:
    use = "Use it when the user asks for KDS, or names kds; not when KDS has read the message."
    return shortened((door.description, use), MAX_DESCRIPTION)


def _when_named(agent: PromptFile) -> str:
    caution = " The user must have asked for exactly this." if agent.confirm else ""
    use = (
        f"Use it when the user names {file_name(agent)}, or when KDS reads a message as "
        f"{agent.intent} and its instructions are not at hand yet.{caution}"
    )
    description = shortened((agent.description,), MAX_DESCRIPTION - len(use) - 1)
    return f"{description} {use}"
