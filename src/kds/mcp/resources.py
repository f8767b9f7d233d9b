"""The resources, and the agents' prompts as MCP prompts.

A prompt is a slash command in most clients. Getting one renders it for a message, as a `#file:`
invocation of its file would, and nothing is remembered: the client may only want to show it.
"""

import json
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import quote

from mcp import MCPError
from mcp.server.mcpserver import MCPServer
from mcp.server.mcpserver.resources import ResourceSecurity
from mcp_types import (
    INVALID_PARAMS,
    GetPromptResult,
    Prompt,
    PromptArgument,
    PromptMessage,
    Resource,
    TextContent,
)

from kds.brain.yaml_files import nearest
from kds.mcp.tools import Workplace

if TYPE_CHECKING:
    from kds.router.prompts.library import PromptLibrary
    from kds.router.prompts.promptfile import PromptFile

JSON: Final = "application/json"
MARKDOWN: Final = "text/markdown"

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

_ANY_NAME: Final = ResourceSecurity(exempt_params={"conversation"})
"""A conversation may be called like a path: its name is hashed before it meets the disk."""


def add_resources(server: MCPServer[Any], workplace: Workplace) -> None:
    """Register the resources. Prompts are listed by `prompt_resources`."""

    def add(uri: str, name: str, mime_type: str) -> Callable[[Callable[..., str]], object]:
        return server.resource(
            uri, name=name, title=name.capitalize(), mime_type=mime_type, security=_ANY_NAME
        )

    @add("kds://context", "context", JSON)
    def context() -> str:
        """The last messages of the workspace's conversation, oldest first."""
        return _json(workplace.context_load())

    @add("kds://context/{conversation}", "context of a conversation", JSON)
    def of_conversation(conversation: str) -> str:
        """The last messages of one conversation, oldest first."""
        return _json(workplace.context_load(conversation))

    @add("kds://prompts", "prompts", JSON)
    def prompts() -> str:
        """The prompt files of the workspace: name, intent, description and place."""
        shown = ("name", "intent", "description", "ref")
        found = workplace.library().prompts()
        return _json([{key: getattr(prompt, key) for key in shown} for prompt in found])

    @add("kds://prompts/{name}", "prompt file", MARKDOWN)
    def prompt(name: str) -> str:
        """The body of a prompt file, before anything is filled in."""
        return workplace.library().get(name).body


def prompt_resources(workplace: Workplace) -> list[Resource]:
    """List the prompt files, so that they can be picked without knowing their names."""
    return [
        Resource(
            uri=f"kds://prompts/{quote(prompt.name, safe='')}", name=prompt.name,
            title=title(prompt.name), description=prompt.description, mime_type=MARKDOWN,
        )
        for prompt in workplace.library().prompts()
    ]  # fmt: skip


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


def _json(value: object) -> str:
    return json.dumps(value, indent=2, ensure_ascii=False)
