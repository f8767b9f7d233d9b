"""The MCP server itself: what it offers, put together, and how changes are announced."""

import inspect
from collections import deque
from collections.abc import AsyncIterator, Callable, Iterable
from contextlib import asynccontextmanager
from typing import IO, Any, Final, cast

import anyio
import anyio.to_thread
from mcp import InitializeResult, ServerSession
from mcp.server.context import CallNext, HandlerResult, ServerRequestContext
from mcp.server.lowlevel.helper_types import ReadResourceContents
from mcp.server.mcpserver import Context, MCPServer
from mcp.server.mcpserver.exceptions import (
    ResourceError,
    ResourceNotFoundError,
    ToolError,
    UnexpectedResourceError,
    UnexpectedToolError,
)
from mcp.server.stdio import stdio_server
from mcp.server.subscriptions import (
    InMemorySubscriptionBus,
    PromptsListChanged,
    ResourcesListChanged,
)
from mcp_types import (
    CallToolResult,
    GetPromptResult,
    InputRequiredResult,
    Prompt,
    Resource,
)
from pydantic import AnyUrl

from kds.brain.document import nearest
from kds.brain.errors import DispatchError, KdsError
from kds.brain.installation import kds_version
from kds.brain.workspace import Workspace
from kds.mcp import resources, slash_prompts
from kds.mcp.argument_completion import add_completion
from kds.mcp.arguments import check_arguments
from kds.mcp.clarification import ANSWER_S
from kds.mcp.doorstep import Lines, Wire
from kds.mcp.memory_tools import add_memory_tools
from kds.mcp.tools import add_tools
from kds.mcp.workplace import Workplace

INSTRUCTIONS: Final = (
    "KDS knows what was said in this workspace. When a message of the user points to something "
    "that you cannot see, or the user asks for KDS or one of its agents, call route_message with "
    "the message, word for word: it comes back with its references filled in and the instructions "
    "of the agent it is for. Other messages need no call."
)

WATCH_S: Final = 2.0
"""Seconds between two looks at the prompt and rule files: some stat calls. A list that is asked
for is always read afresh; this only announces changes."""

SESSIONS_KEPT: Final = 64
"""Clients that are told of changes. Telling one that has gone does no harm."""


class KdsServer(MCPServer[None]):
    """An MCPServer whose prompts are those of the workspace at the time of asking."""

    def __init__(
        self, workspace: Workspace, *, answer_s: float = ANSWER_S, watch_s: float = WATCH_S
    ) -> None:
        self.workplace = Workplace(workspace)
        self._watch_s = watch_s
        self._sessions: deque[ServerSession] = deque(maxlen=SESSIONS_KEPT)
        self._bus = InMemorySubscriptionBus()
        self._warmed = False
        super().__init__(
            "kds",
            title="KDS",
            description="Routes developer chat: references, intent, agent, prompt.",
            instructions=INSTRUCTIONS,
            version=kds_version(),
            log_level="WARNING",
            lifespan=self._watching,
            subscriptions=self._bus,
            middleware=[self._observe],
        )
        add_tools(self, self.workplace, answer_s=answer_s)
        add_memory_tools(self, workspace)
        resources.add_resources(self, self.workplace)
        add_completion(self, self.workplace)

    def add_tool(  # type: ignore[override]  # the others go on as they are
        self, fn: Callable[..., Any], **more: Any
    ) -> None:
        """Register a tool, described by its docstring without the indentation of the code."""
        more.setdefault("description", inspect.getdoc(fn))
        super().add_tool(fn, **more)

    async def list_prompts(self) -> list[Prompt]:
        """List the entrance and the agents, the workspace's own included."""
        with slash_prompts.refusing():
            return await anyio.to_thread.run_sync(slash_prompts.list_prompts, self.workplace)

    async def get_prompt(
        self,
        name: str,
        arguments: dict[str, Any] | None = None,
        context: Context[None, Any] | None = None,
    ) -> GetPromptResult | InputRequiredResult:
        """Render a prompt for a message; nothing is remembered."""
        with slash_prompts.refusing():
            return await anyio.to_thread.run_sync(
                slash_prompts.get_prompt, self.workplace, name, arguments
            )

    async def list_resources(self) -> list[Resource]:
        """List the fixed resources, then every prompt file."""
        with slash_prompts.refusing():
            files = await anyio.to_thread.run_sync(resources.list_prompt_resources, self.workplace)
        return [*await super().list_resources(), *files]

    async def read_resource(
        self, uri: AnyUrl | str, context: Context[None, Any] | None = None
    ) -> Iterable[ReadResourceContents] | InputRequiredResult:
        """Read a resource; an unknown one is refused with those that there are."""
        try:
            return await super().read_resource(uri, context)
        except UnexpectedResourceError as error:
            if not isinstance(cause := error.__cause__, KdsError):
                raise
            kind = ResourceNotFoundError if isinstance(cause, DispatchError) else ResourceError
            raise kind(str(cause)) from error  # it says itself what is near
        except ResourceNotFoundError as error:
            if error.__cause__ is not None:  # refused for what it looks like
                raise
            raise ResourceNotFoundError(
                f"{error}\n  fix: use one of {', '.join(resources.KNOWN)}"
            ) from error

    async def call_tool(
        self,
        name: str,
        arguments: dict[str, Any],
        context: Context[None, Any] | None = None,
    ) -> CallToolResult | InputRequiredResult:
        """Call a tool; an unknown one, and arguments that do not fit, are refused with the fix."""
        tool = self._tool_manager.get_tool(name)
        if tool is None:
            known = [each.name for each in await self.list_tools()]
            near = nearest(name, known)
            hint = f"did you mean '{near}'?" if near else f"use one of: {', '.join(known)}"
            raise ToolError(f"no tool '{name}'\n  fix: {hint}")
        check_arguments(tool, arguments)
        try:
            return await super().call_tool(name, arguments, context)
        except UnexpectedToolError as error:
            if isinstance(error.__cause__, KdsError):  # the model sees the text with its fix
                raise ToolError(f"{error}: {error.__cause__}") from error
            raise

    async def run_lines(self, lines: Lines, wire: Wire) -> None:
        """Serve over what was claimed of stdin and stdout; see `kds.mcp.doorstep`."""
        stdin, stdout = (anyio.wrap_file(cast(IO[str], file)) for file in (lines, wire))
        async with stdio_server(stdin, stdout) as (reads, writes):
            options = self._lowlevel_server.create_initialization_options()
            await self._lowlevel_server.run(reads, writes, options)

    async def announce_changes(self) -> None:
        """Tell every client that the lists of prompts and resources are to be read again."""
        await self._bus.publish(PromptsListChanged())
        await self._bus.publish(ResourcesListChanged())
        for session in tuple(self._sessions):
            await session.send_prompt_list_changed()
            await session.send_resource_list_changed()

    @asynccontextmanager
    async def _watching(self, server: MCPServer[None]) -> AsyncIterator[None]:
        """Look after the files of the workspace for as long as the server runs."""
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(self._watch)
            yield
            tasks.cancel_scope.cancel()

    async def _watch(self) -> None:
        announced = 0
        while True:
            await anyio.sleep(self._watch_s)
            edition = await anyio.to_thread.run_sync(self.workplace.refresh)
            if edition != announced:
                announced = edition
                await self.announce_changes()

    async def _observe(
        self, ctx: ServerRequestContext[Any, Any], call_next: CallNext
    ) -> HandlerResult:
        """Remember who to tell of changes, promise to do so, and load the router meanwhile."""
        result = await call_next(ctx)
        if ctx.method == "initialize":
            return _promise_changes(InitializeResult.model_validate(result))
        if ctx.method == "notifications/initialized":
            self._sessions.append(ctx.session)
        if not self._warmed and ctx.method in ("notifications/initialized", "tools/list"):
            self._warmed = True
            self.workplace.warm()
        return result


def _promise_changes(result: InitializeResult) -> InitializeResult:
    """Say that lists change. The SDK says so only where the transport's caller asks for it."""
    for capability in (result.capabilities.prompts, result.capabilities.resources):
        if capability is not None:
            capability.list_changed = True
    return result
