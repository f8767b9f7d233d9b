"""The MCP server: what it offers, put together; its answers to single messages, and over HTTP."""

import inspect
from collections.abc import AsyncIterator, Callable, Iterable, Sequence
from functools import lru_cache
from typing import Any, Final, TypeVar, cast

import anyio
import anyio.to_thread
from mcp import MCPError
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
from mcp_types import (
    INVALID_PARAMS,
    CallToolResult,
    GetPromptResult,
    InputRequiredResult,
    Prompt,
    Resource,
    ToolAnnotations,
)
from pydantic import AnyUrl

from kds.brain.errors import DispatchError, KdsError
from kds.brain.installation import kds_version
from kds.brain.message import well_formed_json
from kds.brain.workspace import Workspace
from kds.mcp import resources
from kds.mcp.tools import Workplace

T = TypeVar("T")

INSTRUCTIONS: Final = (
    "KDS knows what was said in this workspace. When a message points to something you cannot see, "
    "or the user asks for KDS or one of its agents, call route_message with the message word for "
    "word: it comes back with its references filled in and the instructions of the agent it is "
    "for. Else do not."
)

PATH: Final = "/mcp"  # which the SDKs and the clients' documentation use
ANSWER_S: Final = 110  # that a message is worked on: the client's side waits a little longer

GRACE_S: Final = 2
"""Seconds that open streams get to end when the server is stopped: clients hold one for as long
as they live."""

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
        resources.add_resources(self, place)

    async def _ask(self, question: Callable[[Workplace], T]) -> T:
        """Ask the workplace in a thread; what is wrong is told with the fix."""
        try:
            return await anyio.to_thread.run_sync(question, self._workplace)
        except KdsError as error:
            raise MCPError(INVALID_PARAMS, str(error)) from error

    async def list_prompts(self) -> list[Prompt]:
        """List the entrance and the agents, the workspace's own included."""
        return await self._ask(resources.list_prompts)

    async def get_prompt(
        self,
        name: str,
        arguments: dict[str, Any] | None = None,
        context: Context[None, Any] | None = None,
    ) -> GetPromptResult | InputRequiredResult:
        """Render a prompt for a message; nothing is remembered."""
        return await self._ask(lambda place: resources.get_prompt(place, name, arguments or {}))

    async def list_resources(self) -> list[Resource]:
        """List the fixed resources, then every prompt file."""
        return [*await super().list_resources(), *await self._ask(resources.prompt_resources)]

    async def read_resource(
        self, uri: AnyUrl | str, context: Context[None, Any] | None = None
    ) -> Iterable[ReadResourceContents] | InputRequiredResult:
        """Read a resource; what is wrong with it is told with the fix."""
        try:
            return await super().read_resource(uri, context)
        except UnexpectedResourceError as error:
            if not isinstance(cause := error.__cause__, KdsError):
                raise
            kind = ResourceNotFoundError if isinstance(cause, DispatchError) else ResourceError
            raise kind(str(cause)) from error

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


def serve_http(server: KdsServer, host: str, port: int, *, announce: Callable[[str], None]) -> None:
    """Serve streamable HTTP on loopback, with a token, until a signal ends it.

    ``announce`` is given the line that says where. Raises ServiceError when the address is not
    loopback or is taken, WorkspaceError when the workspace cannot be used, StoreError when no
    token can be written.
    """
    import uvicorn

    from kds.service.listening import HttpAddress, bind_http
    from kds.service.requests import BODY_LIMIT
    from kds.service.security import TokenAuth, open_token
    from kds.service.service_client import ServiceAddress

    address, place = HttpAddress(host, port), ServiceAddress()
    server.workspace.ensure()
    place.ensure()
    token = open_token(place.token_path)
    listener, bound = bind_http(address)
    app = server.streamable_http_app(
        streamable_http_path=PATH, host=bound.host, max_request_body_size=BODY_LIMIT
    )
    guard = TokenAuth(app, token)

    async def guarded(scope: Any, receive: Any, send: Any) -> None:
        await (app if scope["type"] == "lifespan" else guard)(scope, receive, send)

    config = uvicorn.Config(
        guarded, log_level="warning", access_log=False, timeout_graceful_shutdown=GRACE_S
    )
    announce(f"kds: MCP at {bound.url}{PATH}; the token is in {place.token_path}")
    uvicorn.Server(config).run(sockets=[listener])
