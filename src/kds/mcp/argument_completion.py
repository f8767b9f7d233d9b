"""Completion of what a user types for a prompt or a resource (completion/complete)."""

from collections.abc import Iterable, Iterator
from typing import Any, Final

from mcp.server.mcpserver import MCPServer
from mcp_types import (
    Completion,
    CompletionArgument,
    CompletionContext,
    PromptReference,
    ResourceTemplateReference,
)

from kds.mcp.resources import CONVERSATION, INTENT, PROMPT
from kds.mcp.slash_prompts import ARGUMENT, examples, offered, refusing
from kds.mcp.workplace import Workplace

LIMIT: Final = 100
"""Values in one answer at most (MCP 2025-11-25, completion)."""

Reference = PromptReference | ResourceTemplateReference


def add_completion(server: MCPServer[Any], workplace: Workplace) -> None:
    """Register the completion of names, and of messages by the examples of an agent."""

    @server.completion()  # type: ignore[no-untyped-call,untyped-decorator]  # untyped in mcp 2.3
    async def complete(
        ref: Reference, argument: CompletionArgument, context: CompletionContext | None
    ) -> Completion:
        with refusing():
            return matching(argument.value, _values(ref, argument.name, workplace))


def matching(typed: str, values: Iterable[str]) -> Completion:
    """The values that begin with what was typed, then those that hold it; each once.

    >>> matching("pl", ["work-planner", "plan", "test"]).values
    ['plan', 'work-planner']
    """
    wanted = typed.casefold()
    found = dict.fromkeys(value for value in values if wanted in value.casefold())
    ranked = sorted(found, key=lambda value: not value.casefold().startswith(wanted))
    return Completion(values=ranked[:LIMIT], total=len(ranked), has_more=len(ranked) > LIMIT)


def _values(ref: Reference, argument: str, workplace: Workplace) -> Iterator[str]:
    """What an argument can be. Nothing, for one that is not known."""
    if isinstance(ref, PromptReference):
        library = workplace.library()
        prompt = offered(library).get(ref.name)
        if prompt is not None and argument == ARGUMENT:
            yield from examples(prompt, library)
    elif ref.uri == PROMPT and argument == "name":
        yield from (prompt.name for prompt in workplace.library().prompts())
    elif ref.uri == CONVERSATION and argument == "conversation":
        yield from workplace.conversations()
    elif ref.uri == INTENT and argument == "intent":
        yield from workplace.intents()
