"""What every tool hands back: a text with its structure, or an error a model can act on."""

from collections.abc import Iterator
from contextlib import contextmanager

from mcp.server.mcpserver.exceptions import ToolError
from mcp_types import CallToolResult, TextContent
from pydantic import BaseModel

from kds.brain.errors import KdsError


@contextmanager
def told() -> Iterator[None]:
    """Turn what went wrong into a tool error: the client sees the text with `where` and `fix`."""
    try:
        yield
    except KdsError as error:
        raise ToolError(str(error)) from error


def result(text: str, structured: BaseModel) -> CallToolResult:
    """Put the text and the structure of a result together."""
    return CallToolResult(
        content=[TextContent(type="text", text=text)],
        structured_content=structured.model_dump(mode="json"),
    )
