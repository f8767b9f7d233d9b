"""Real `kds mcp` processes, and real clients of the `mcp` package to talk to them."""

import os
import shutil
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from anyio.from_thread import BlockingPortal, start_blocking_portal
from mcp import Client, StdioServerParameters, stdio_client
from mcp_types import CallToolResult

KDS = Path(sys.executable).with_name("kds")

INITIALIZE = {
    "jsonrpc": "2.0", "id": 1, "method": "initialize",
    "params": {
        "protocolVersion": "2025-11-25", "capabilities": {},
        "clientInfo": {"name": "test", "version": "1"},
    },
}  # fmt: skip
"""The first message of a client."""


@dataclass
class Talk:
    """A client and its connection, driven from plain test functions."""

    portal: BlockingPortal
    client: Client

    def do(self, method: str, *args: Any, **kwargs: Any) -> Any:
        async def call() -> Any:
            return await getattr(self.client, method)(*args, **kwargs)

        return self.portal.call(call)

    def call(self, tool: str, **arguments: Any) -> CallToolResult:
        """Call a tool; a result that is not an error must fit its schema."""
        result: CallToolResult = self.do("call_tool", tool, arguments)
        if not result.is_error:
            schemas = {found.name: found.output_schema for found in self.do("list_tools").tools}
            jsonschema.validate(result.structured_content, schemas[tool])
        return result

    def data(self, tool: str, **arguments: Any) -> Any:
        """The structured content of a call that has to succeed."""
        result = self.call(tool, **arguments)
        assert not result.is_error, result.content
        return result.structured_content

    def text(self, tool: str, **arguments: Any) -> str:
        """The text of a call, succeeded or not."""
        return text_of(self.call(tool, **arguments))


def text_of(result: CallToolResult) -> str:
    return "\n".join(block.text for block in result.content if block.type == "text")


@pytest.fixture(scope="session")
def portal() -> Iterator[BlockingPortal]:
    with start_blocking_portal() as portal:
        yield portal


@pytest.fixture(scope="session")
def mcp_workspace(tmp_path_factory: pytest.TempPathFactory, fitted_brain: Path) -> Path:
    """The workspace that the shared processes serve. Tests name conversations of their own."""
    folder = tmp_path_factory.mktemp("mcp")
    shutil.copytree(fitted_brain, folder / "kds-brain")
    return folder


@pytest.fixture(scope="session")
def environment(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    kept = {name: value for name, value in os.environ.items() if not name.startswith("KDS_")}
    home = str(tmp_path_factory.mktemp("home"))
    return {**kept, "HOME": home, "KDS_SERVICE_AUTO": "0"}  # no service that outlives the tests


@pytest.fixture(scope="session")
def stdio(
    portal: BlockingPortal, mcp_workspace: Path, environment: dict[str, str]
) -> Iterator[Talk]:
    """A client of a `kds mcp` process."""
    parameters = StdioServerParameters(
        command=str(KDS), args=["mcp", "--workspace", str(mcp_workspace)], env=environment
    )
    client = Client(stdio_client(parameters), mode="legacy")
    with portal.wrap_async_context_manager(client):
        yield Talk(portal, client)
