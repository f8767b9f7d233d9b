"""The MCP server: what it offers, put together, and its answers to single messages."""

import inspect
from collections.abc import AsyncIterator, Callable, Sequence
from functools import lru_cache
from typing import Any, Final, TypeVar, cast

import anyio
import anyio.to_thread
from mcp import MCPError
from mcp.server.mcpserver import Context, MCPServer
from mcp.server.mcpserver.exceptions import ToolError, UnexpectedToolError
from mcp.server.stdio import stdio_server
from mcp_types import (
    INVALID_PARAMS,
    CallToolResult,
    GetPromptResult,
    InputRequiredResult,
    Prompt,
    ToolAnnotations,
)

from kds.brain.errors import KdsError
from kds.brain.installation import kds_version
from kds.brain.message import well_formed_json
from kds.brain.workspace import Workspace
from kds.mcp import prompts
from kds.mcp.tools import Workplace

T = TypeVar("T")

INSTRUCTIONS: Final = (
    "KDS knows what was said in this workspace. When a message points to something you cannot see, "
    "or the user asks for KDS or one of its agents, call route_message with the message word for "
    "word: it comes back with its references filled in and the instructions of the agent it is "
    "for. Else do not."
)

ANSWER_S: Final = 110  # that a message is worked on: the client's side waits a little longer

READS: Final = ToolAnnotations(read_only_hint=True, idempotent_hint=True, open_world_hint=False)
ADDS: Final = ToolAnnotations(
    read_only_hint=False, destructive_hint=False, idempotent_hint=False, open_world_hint=False
)
CLEARS: Final = ToolAnnotations(
    read_only_hint=False, destructive_hint=True, idempotent_hint=True, open_world_hint=False
)


class KdsServer(MCPServer[None]):
    """An MCPServer whose prompts are those of the workspace at the time of asking."""

    def __init__(self, workspace: Workspace) -> None:
        self.workspace = workspace
        super().__init__(
            "kds",
            title="KDS",
            description="Routes developer chat: references, intent, agent, prompt.",
            instructions=INSTRUCTIONS,
            version=kds_version(),
            log_level="WARNING",
        )
        self._workplace = place = Workplace(workspace)
        for function, title, annotations in (
            (place.route_message, "Route a message", ADDS),
            (place.resolve_references, "Resolve references", READS),
            (place.context_load, "Load the context", READS),
            (place.context_clear, "Clear the context", CLEARS),
            (place.memory_search, "Search the memory", READS),
            (place.recall, "Recall past sessions", READS),
            (place.recall_session, "Read a past session", READS),
        ):
            text = inspect.getdoc(function)  # without the indentation of the code
            self.add_tool(function, title=title, annotations=annotations, description=text)

    async def _ask(self, question: Callable[[Workplace], T]) -> T:
        """Ask the workplace in a thread; what is wrong is told with the fix."""
        try:
            return await anyio.to_thread.run_sync(question, self._workplace)
        except KdsError as error:
            raise MCPError(INVALID_PARAMS, str(error)) from error

    async def list_prompts(self) -> list[Prompt]:
        """List the entrance and the agents, the workspace's own included."""
        return await self._ask(prompts.list_prompts)

    async def get_prompt(
        self,
        name: str,
        arguments: dict[str, Any] | None = None,
        context: Context[None, Any] | None = None,
    ) -> GetPromptResult | InputRequiredResult:
        """Render a prompt for a message; nothing is remembered."""
        return await self._ask(lambda place: prompts.get_prompt(place, name, arguments or {}))

    async def call_tool(
        self,
        name: str,
        arguments: dict[str, Any],
        context: Context[None, Any] | None = None,
    ) -> CallToolResult | InputRequiredResult:
        """Call a tool; unknown arguments, which the SDK would leave out, are refused."""
        tool = self._tool_manager.get_tool(name)
        if tool is not None:  # the SDK refuses unknown tools, and wrong values, itself
            known = tool.parameters.get("properties", {})
            if unknown := [one for one in arguments if one not in known]:
                raise ToolError(f"no argument '{unknown[0][:60]}'\n  fix: use {', '.join(known)}")
        try:
            return await super().call_tool(name, arguments, context)
        except UnexpectedToolError as error:
            if isinstance(error.__cause__, KdsError):  # the model sees the text with its fix
                raise ToolError(f"{error}: {error.__cause__}") from error
            raise


class _Exchange:
    """Stands in for stdin and stdout of a client that says some lines and awaits the answers."""

    def __init__(self, lines: Sequence[str]) -> None:
        self._lines = lines
        self._awaited = sum('"id"' in line for line in lines)
        self._answered = anyio.Event()
        self.said: list[str] = []

    async def __aiter__(self) -> AsyncIterator[str]:
        for line in self._lines:
            yield well_formed_json(line)  # half a character is not valid JSON to the SDK
        if self._awaited:
            await self._answered.wait()

    async def write(self, text: str) -> None:
        self.said.append(text.rstrip("\n"))
        if len(self.said) >= self._awaited:
            self._answered.set()

    async def flush(self) -> None:
        pass


_served = lru_cache(32)(KdsServer)


async def answered(workspace: Workspace, lines: Sequence[str]) -> list[str]:
    """What a server of the workspace says to the first lines of a client, each with an answer."""
    server, exchange = _served(workspace), _Exchange(lines)
    file = cast("anyio.AsyncFile[str]", exchange)
    options = server._lowlevel_server.create_initialization_options()
    with anyio.move_on_after(ANSWER_S):
        async with stdio_server(file, file) as (messages, answers):
            await server._lowlevel_server.run(messages, answers, options)
    return exchange.said
