"""The agents' prompts as MCP prompts: a slash command in most clients.

Getting one renders it for a message, as a `#file:` invocation of its file would, and nothing is
remembered: the client may ask for a prompt only to show it.
"""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any, Final

from mcp import MCPError
from mcp_types import INVALID_PARAMS, GetPromptResult, Prompt, PromptArgument, PromptMessage
from mcp_types import TextContent as Text

from kds.brain.document import nearest
from kds.brain.errors import KdsError
from kds.mcp.workplace import Workplace
from kds.router.prompts.library import PromptLibrary
from kds.router.prompts.promptfile import PromptFile

ENTRANCE: Final = "kds"
"""The prompt that routes its message, whichever agent it is for."""

ARGUMENT: Final = "message"


def offered(library: PromptLibrary) -> Mapping[str, PromptFile]:
    """The prompts that take a message, by name: the entrance, then the agents by priority."""
    others = (prompt for prompt in library.prompts() if prompt.name == ENTRANCE)
    return {prompt.name: prompt for prompt in (*others, *library.agents())}


def list_prompts(workplace: Workplace) -> list[Prompt]:
    """Describe the prompts. Raises KdsError when the workspace's files do not load."""
    with_message = PromptArgument(
        name=ARGUMENT, description="What you want, in your own words.", required=True
    )
    return [
        Prompt(
            name=prompt.name,
            title=title(prompt.name),
            description=prompt.description,
            arguments=[with_message],
        )
        for prompt in offered(workplace.library()).values()
    ]


def get_prompt(
    workplace: Workplace, name: str, arguments: Mapping[str, Any] | None
) -> GetPromptResult:
    """Render a prompt for its message. Raises MCPError where the request is wrong, and KdsError."""
    prompts = offered(workplace.library())
    prompt = prompts.get(name)
    if prompt is None:
        near = nearest(name, prompts)
        hint = f"did you mean '{near}'?" if near else f"use one of: {', '.join(prompts)}"
        raise refusal(f"no prompt '{name}'\n  fix: {hint}")
    message = (arguments or {}).get(ARGUMENT, "")
    if not isinstance(message, str) or not message.strip():
        raise refusal(f"prompt '{name}' needs '{ARGUMENT}'\n  fix: say what you want done")
    turn = workplace.route(f"#file:{prompt.ref} {message}", conversation=None, log=False)
    content = Text(type="text", text=turn.prompt)
    return GetPromptResult(
        description=prompt.description, messages=[PromptMessage(role="user", content=content)]
    )


def title(name: str) -> str:
    """Spell a prompt's name for people.

    >>> title("work-planner"), title("kds")
    ('Work planner', 'KDS')
    """
    return "KDS" if name == ENTRANCE else name.replace("-", " ").capitalize()


def refusal(message: str) -> MCPError:
    """The error for a request that cannot be met as it stands."""
    return MCPError(INVALID_PARAMS, message)


@contextmanager
def refusing() -> Iterator[None]:
    """Turn what goes wrong into such an error."""
    try:
        yield
    except KdsError as error:
        raise refusal(str(error)) from error


def examples(prompt: PromptFile, library: PromptLibrary) -> Iterator[str]:
    """Messages that a prompt is for: its examples, or those of all agents for the entrance."""
    for source in (prompt,) if prompt.intent else library.agents():
        yield from source.examples
