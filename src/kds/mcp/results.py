"""What the tools have in common: what they hand back, and how they are described."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

from mcp.server.mcpserver.exceptions import ToolError
from mcp_types import CallToolResult, TextContent, ToolAnnotations
from pydantic import BaseModel, BeforeValidator

from kds.brain.errors import KdsError

READS: Final = ToolAnnotations(read_only_hint=True, idempotent_hint=True, open_world_hint=False)

ABSENT: Final = BeforeValidator(lambda given: "" if given is None else given)
"""For a plain `str` with "" for nothing: the SDK would read a text such as "null" as JSON
otherwise."""


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
