"""Our part of a text file of the user: of `.codex/config.toml` and `.gitignore`."""

import json
import re
import tomllib
from collections.abc import Iterable, Sequence
from typing import Any, Final

from kds.brain.errors import ConfigError, Problem
from kds.clients.programs import SERVER, calls_server

_SERVERS: Final = "mcp_servers"
_OURS: Final = rf"[ \t]*\[[ \t]*{_SERVERS}[ \t]*\.[ \t]*\"?{SERVER}\"?[ \t]*"
_HEADER: Final = re.compile(rf"{_OURS}\]")
_OTHER_HEADER: Final = re.compile(rf"(?!{_OURS}\.)[ \t]*\[")
_LINE: Final = re.compile(r"at line (\d+)")

_BEGIN: Final = "<!-- kds: begin; `kds init --undo` takes this part out -->"
_END: Final = "<!-- kds: end -->"
_SECTION: Final = re.compile(
    rf"(?:(?<=\n)\r?\n)?{re.escape(_BEGIN)}.*?{re.escape(_END)}(?:\r?\n)?", re.DOTALL
)
_HEADING: Final = "# KDS: conversations and caches stay on this machine"


class CodexConfigError(ConfigError):
    """The configuration is not TOML, or has our server in a form that cannot be changed."""


def codex_server(text: str, where: str) -> dict[str, Any] | None:
    """The entry called `kds` in a configuration of Codex, or None. Raises CodexConfigError."""
    try:
        servers = tomllib.loads(text).get(_SERVERS, {})
    except tomllib.TOMLDecodeError as error:
        line = _LINE.search(str(error))
        place = f"{where}:{line[1]}" if line else where
        raise _refusal(place, f"invalid TOML: {error}", "correct it by hand") from error
    if not isinstance(servers, dict):
        raise _refusal(where, f"'{_SERVERS}' is not a table", "correct it by hand")
    entry = servers.get(SERVER)
    return entry if isinstance(entry, dict) else None


def with_codex_server(text: str, program: str, where: str) -> str:
    """The text with our server as a table at its end. Raises CodexConfigError.

    The text is parsed before and after; all other lines stay as they are.

    >>> print(with_codex_server('model = "o3"', "kds", "config.toml"), end="")
    model = "o3"
    <BLANKLINE>
    [mcp_servers.kds]
    command = "kds"
    args = ["mcp"]
    """
    entry = codex_server(text, where)
    if entry is not None and not calls_server(entry):
        message = f"an MCP server named '{SERVER}' is there, and it is not this one"
        raise _refusal(where, message, "rename it, or leave out --mcp")
    if entry is not None and (entry["command"], entry["args"]) == (program, ["mcp"]):
        return text
    end = _newline(text)
    wanted = {  # a basic string is the same in JSON and in TOML
        "command": f"command = {json.dumps(program, ensure_ascii=False)}",
        "args": 'args = ["mcp"]',
    }
    if entry is None:
        lines = (f"[{_SERVERS}.{SERVER}]", *wanted.values())
        changed = _with_gap(text) + "".join(line + end for line in lines)
    else:
        changed = _with_values(text, wanted)
    _check_codex(changed, program, where)
    return changed


def without_codex_server(text: str, where: str) -> str:
    """The text without our server and the blank line before it. Raises CodexConfigError."""
    entry = codex_server(text, where)
    if entry is None or not calls_server(entry):
        return text
    lines = text.splitlines(keepends=True)
    start, end = _table(lines)
    if start > 0 and not lines[start - 1].strip():
        start -= 1
    return "".join(lines[:start] + lines[end:])


def without_section(text: str) -> str:
    """The page without our section and the blank line before it."""
    return _SECTION.sub("", text, count=1)


def with_lines(text: str, lines: Sequence[str], *, covered: Iterable[str] = ()) -> str:
    """The text with the lines that it lacks, below our heading, at its end.

    Nothing is added if one of the lines in ``covered`` already does the same.

    >>> with_lines("node_modules", ["kds-brain/*"]).splitlines()[-1]
    'kds-brain/*'
    """
    present = {line.strip() for line in text.splitlines()}
    missing = [line for line in lines if line not in present]
    if not missing or present & set(covered):
        return text
    newline = _newline(text)
    gap = "" if not text or text.endswith(("\n", "\r")) else newline
    heading = [] if _HEADING in present else [_HEADING]
    return text + gap + "".join(line + newline for line in [*heading, *missing])


def without_lines(text: str, lines: Iterable[str]) -> str:
    """The text without our heading and ``lines``; all other lines stay as they are."""
    ours = {_HEADING, *lines}
    return "".join(line for line in text.splitlines(keepends=True) if line.strip() not in ours)


def _table(lines: list[str]) -> tuple[int, int]:
    """The lines of our table and its subtables, without the comments before the next table."""
    start = next((at for at, line in enumerate(lines) if _HEADER.match(line)), len(lines))
    after = (at for at in range(start + 1, len(lines)) if _OTHER_HEADER.match(lines[at]))
    end = next(after, len(lines))
    while end > start + 1 and lines[end - 1].lstrip()[:1] in ("", "#"):
        end -= 1
    return start, end


def _with_values(text: str, wanted: dict[str, str]) -> str:
    """The text with other values of our two keys, where each has a line of its own."""
    lines = text.splitlines(keepends=True)
    for at in range(*_table(lines)):
        key = lines[at].partition("=")[0].strip()
        if key in wanted:
            lines[at] = wanted[key] + lines[at][len(lines[at].rstrip("\r\n")) :]
    return "".join(lines)


def _check_codex(text: str, program: str, where: str) -> None:
    """Raise CodexConfigError when an edit by lines did not have the wanted effect."""
    try:
        entry = tomllib.loads(text)[_SERVERS][SERVER]
        if (entry["command"], entry["args"]) == (program, ["mcp"]):
            return
    except (tomllib.TOMLDecodeError, KeyError, TypeError):
        pass
    message = f"has '{_SERVERS}' in a form that only a person can add to"
    raise _refusal(where, message, f"write it as [{_SERVERS}.NAME] tables, or leave out --mcp")


def _newline(text: str) -> str:
    return "\r\n" if "\r\n" in text else "\n"


def _with_gap(text: str) -> str:
    """The text with a blank line at its end, unless it is empty."""
    end = _newline(text)
    return text + ("" if not text else end if text.endswith(("\n", "\r")) else end * 2)


def _refusal(where: str, message: str, hint: str) -> CodexConfigError:
    return CodexConfigError([Problem(where, message, hint)])
