"""Our MCP server in the configuration of Codex, `.codex/config.toml`, which belongs to the user.

The server is a table of its own, so its lines can be added at the end of the text and taken out
again, and all other lines stay as they are. The text is read with `tomllib` before and after.
"""

import json
import re
import tomllib
from typing import Any, Final

from kds.brain.errors import ConfigError, Problem
from kds.clients.programs import calls_server
from kds.clients.settings.entries import SERVER

SERVERS: Final = "mcp_servers"
_OURS: Final = rf"[ \t]*\[[ \t]*{SERVERS}[ \t]*\.[ \t]*\"?{SERVER}\"?[ \t]*"
_HEADER: Final = re.compile(rf"{_OURS}\]")
_OTHER_HEADER: Final = re.compile(rf"(?!{_OURS}\.)[ \t]*\[")
_LINE: Final = re.compile(r"at line (\d+)")


class CodexConfigError(ConfigError):
    """The configuration is no TOML, or has our server in a form that cannot be changed."""


def server_in(text: str, where: str) -> dict[str, Any] | None:
    """The entry called `kds`, whoever wrote it; None where there is none. Raises."""
    try:
        servers = tomllib.loads(text).get(SERVERS, {})
    except tomllib.TOMLDecodeError as error:
        line = _LINE.search(str(error))
        place = f"{where}:{line[1]}" if line else where
        raise _refusal(place, f"is no TOML: {error}", "correct it by hand") from error
    if not isinstance(servers, dict):
        raise _refusal(where, f"'{SERVERS}' is no table", "correct it by hand")
    entry = servers.get(SERVER)
    return entry if isinstance(entry, dict) else None


def is_ours(entry: dict[str, Any]) -> bool:
    """Whether an entry runs our server."""
    return calls_server(entry.get("command"), entry.get("args"))


def with_server(text: str, program: str, where: str) -> str:
    """The text with our server in it. Raises CodexConfigError when its name is taken.

    >>> print(with_server('model = "o3"', "kds", "config.toml"), end="")
    model = "o3"
    <BLANKLINE>
    [mcp_servers.kds]
    command = "kds"
    args = ["mcp"]
    """
    entry = server_in(text, where)
    if entry is not None and not is_ours(entry):
        message = f"an MCP server named '{SERVER}' is there, and it is not this one"
        raise _refusal(where, message, "rename it, or use --no-mcp")
    if entry is not None and (entry["command"], entry["args"]) == (program, ["mcp"]):
        return text
    end = "\r\n" if "\r\n" in text else "\n"
    command = json.dumps(program, ensure_ascii=False)  # a basic string is the same in TOML
    lines = [f"[{SERVERS}.{SERVER}]", f"command = {command}", 'args = ["mcp"]']
    added = "".join(line + end for line in lines)
    if entry is None:
        gap = "" if not text else end if text.endswith(("\n", "\r")) else end * 2
        changed = text + gap + added
    else:
        changed = _rewritten(text, dict(zip(("command", "args"), lines[1:], strict=True)))
    _check(changed, program, where)
    return changed


def without_server(text: str, where: str) -> str:
    """The text without our server, and without the blank line before it."""
    entry = server_in(text, where)
    if entry is None or not is_ours(entry):
        return text
    lines = text.splitlines(keepends=True)
    start, end = _table(lines)
    if start > 0 and not lines[start - 1].strip():
        start -= 1
    return "".join(lines[:start] + lines[end:])


def _table(lines: list[str]) -> tuple[int, int]:
    """The lines of our table and of those below it; what stands before the next one is not ours."""
    start = next((at for at, line in enumerate(lines) if _HEADER.match(line)), len(lines))
    after = (at for at in range(start + 1, len(lines)) if _OTHER_HEADER.match(lines[at]))
    end = next(after, len(lines))
    while end > start + 1 and lines[end - 1].lstrip()[:1] in ("", "#"):
        end -= 1
    return start, end


def _rewritten(text: str, wanted: dict[str, str]) -> str:
    """The text with other values of our two keys, where each has a line of its own."""
    lines = text.splitlines(keepends=True)
    for at in range(*_table(lines)):
        key = lines[at].partition("=")[0].strip()
        if key in wanted:
            lines[at] = wanted[key] + lines[at][len(lines[at].rstrip("\r\n")) :]
    return "".join(lines)


def _check(text: str, program: str, where: str) -> None:
    """What cannot be changed line by line is not changed at all."""
    try:
        entry = tomllib.loads(text)[SERVERS][SERVER]
        if (entry["command"], entry["args"]) == (program, ["mcp"]):
            return
    except (tomllib.TOMLDecodeError, KeyError, TypeError):
        pass
    message = f"has '{SERVERS}' in a form that only a person can add to"
    raise _refusal(where, message, f"write it as [{SERVERS}.NAME] tables, or use --no-mcp")


def _refusal(where: str, message: str, hint: str) -> CodexConfigError:
    return CodexConfigError([Problem(where, message, hint)])
