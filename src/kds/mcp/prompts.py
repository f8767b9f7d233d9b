"""The agents' prompts as MCP prompts.

A prompt is a slash command in most clients. Getting one renders it for a message, as a `#file:`
invocation of its file would, and nothing is remembered: the client may only want to show it.
"""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Final

from mcp import MCPError
from mcp_types import (
    INVALID_PARAMS,
    GetPromptResult,
    Prompt,
    PromptArgument,
    PromptMessage,
    TextContent,
)

from kds.brain.yaml_files import nearest
from kds.mcp.tools import Workplace

if TYPE_CHECKING:
    from kds.router.prompts.library import PromptLibrary
    from kds.router.prompts.promptfile import PromptFile

ENTRANCE: Final = "kds"  # the prompt that routes its message, to any agent
ARGUMENT: Final = PromptArgument(
    name="message", description="What you want, in your own words.", required=True
)
HANDOFF: Final = Prompt(
    name="handoff",
    title="Handoff",
    description="Go on where the last session in this repository stopped, of whichever assistant.",
    arguments=[PromptArgument(name="to", description="Who goes on.", required=False)],
)


def list_prompts(workplace: Workplace) -> list[Prompt]:
    """Describe the prompts. Raises KdsError when the workspace's files do not load."""
    offered = _offered(workplace.library()).values()
    return [
        *(Prompt(name=one.name, title=title(one.name), description=one.description,
                 arguments=[ARGUMENT]) for one in offered),
        HANDOFF,
    ]  # fmt: skip


def get_prompt(workplace: Workplace, name: str, arguments: Mapping[str, Any]) -> GetPromptResult:
    """Render a prompt for its message. Raises MCPError for a wrong request, and KdsError."""
    if name == HANDOFF.name:
        return _said(HANDOFF.description, workplace.handoff(str(arguments.get("to") or "")))
    prompts = _offered(workplace.library())
    prompt = prompts.get(name)
    if prompt is None:
        near = nearest(name, list(prompts))
        hint = f"did you mean '{near}'?" if near else f"use one of: {', '.join(prompts)}"
        raise MCPError(INVALID_PARAMS, f"no prompt '{name}'\n  fix: {hint}")
    message = arguments.get(ARGUMENT.name, "")
    if not isinstance(message, str) or not message.strip():
        fix = "say what you want done"
        raise MCPError(INVALID_PARAMS, f"prompt '{name}' needs '{ARGUMENT.name}'\n  fix: {fix}")
    turn = workplace.route(f"#file:{prompt.ref} {message}", conversation=None, log=False)
    return _said(prompt.description, turn.prompt)


def title(name: str) -> str:
    """Spell a prompt's name for people.

    >>> title("work-planner"), title("kds")
    ('Work planner', 'KDS')
    """
    return "KDS" if name == ENTRANCE else name.replace("-", " ").capitalize()


def _offered(library: "PromptLibrary") -> "Mapping[str, PromptFile]":
    """The prompts that take a message, by name: the entrance, then the agents by priority."""
    entrance = (prompt for prompt in library.prompts() if prompt.name == ENTRANCE)
    return {prompt.name: prompt for prompt in (*entrance, *library.agents())}


def _said(description: str | None, text: str) -> GetPromptResult:
    message = PromptMessage(role="user", content=TextContent(type="text", text=text))
    return GetPromptResult(description=description, messages=[message])
