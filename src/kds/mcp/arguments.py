"""Arguments of tools as clients send them: what does not fit is refused, with what would.

The SDK tells of wrong values in the words of its validator and takes no notice of names it does
not know. A model mends its call by itself when it reads what is wrong, and what to send.
"""

import json
from collections.abc import Iterator, Mapping
from typing import Any, Final

from mcp.server.mcpserver.exceptions import ToolError
from mcp.server.mcpserver.tools import Tool
from pydantic import ValidationError

from kds.brain.document import nearest
from kds.brain.errors import KdsError

_SHOWN: Final = 60
"""Characters of a wrong value that are quoted."""

_TYPES: Final = {"string": "text", "boolean": "true or false", "integer": "a whole number"}

Schema = Mapping[str, Any]


def check_arguments(tool: Tool, arguments: Mapping[str, object]) -> None:
    """Raise ToolError with everything that is wrong with the arguments of a call."""
    known: Mapping[str, Schema] = tool.parameters.get("properties", {})
    faults = [*_unknown(tool.name, arguments, known), *_unfit(tool, arguments, known)]
    if faults:
        raise ToolError("\n".join(str(fault) for fault in faults))


def expected(schema: Schema) -> str:
    """Say in words which values fit.

    >>> expected({"type": "integer", "minimum": 1, "maximum": 50})
    'a whole number from 1 to 50'
    >>> expected({"type": "string", "enum": ["markdown", "json"]})
    'markdown or json'
    """
    if choices := schema.get("enum"):
        return " or ".join(str(choice) for choice in choices)
    words = _TYPES.get(str(schema.get("type")), "of another kind")
    lowest, highest = schema.get("minimum"), schema.get("maximum")
    if lowest is not None:
        words += f", {lowest} or more" if highest is None else f" from {lowest} to {highest}"
    return words


def _unknown(
    tool: str, arguments: Mapping[str, object], known: Mapping[str, Schema]
) -> Iterator[KdsError]:
    for name in arguments:
        if name not in known:
            near = nearest(name, known) or _beginning(name, known)
            hint = f"did you mean '{near}'?" if near else f"use: {', '.join(known)}"
            yield KdsError(f"no argument '{_short(name)}'", where=tool, hint=hint)


def _beginning(name: str, known: Mapping[str, Schema]) -> str | None:
    """The only argument that begins like ``name``, which may be short for it."""
    found = [each for each in known if name and each.startswith(name)]
    return found[0] if len(found) == 1 else None


def _unfit(
    tool: Tool, arguments: Mapping[str, object], known: Mapping[str, Schema]
) -> Iterator[KdsError]:
    try:
        tool.fn_metadata.validate_arguments({n: v for n, v in arguments.items() if n in known})
    except ValidationError as error:
        names = dict.fromkeys(str(fault["loc"][0]) for fault in error.errors() if fault["loc"])
    else:
        return
    for name in names:
        schema = known.get(name, {})
        fits = expected(schema)
        purpose = f": {schema['description']}" if "description" in schema else ""
        hint = f"send {fits}{purpose}"
        if name in arguments:
            given = _short(json.dumps(arguments[name], default=str))
            yield KdsError(f"'{name}' must be {fits}, not {given}", where=tool.name, hint=hint)
        else:
            yield KdsError(f"the argument '{name}' is missing", where=tool.name, hint=hint)


def _short(text: str) -> str:
    return text if len(text) <= _SHOWN else f"{text[: _SHOWN - 3]}..."
