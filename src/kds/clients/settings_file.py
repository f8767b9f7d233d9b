"""Our hooks, our MCP server and our lines in settings of a client, which belong to the user.

JSON, the TOML of Codex, and `.gitignore`: other lines and entries stay as they are.
Sources for the forms: Claude Code's settings and hooks reference; GitHub's hooks reference for the
Copilot CLI; VS Code's MCP configuration reference; Cursor's pages on hooks and MCP; the hook
reference in the package of Gemini CLI; the schemas in the binary of Codex.
"""

import json
import re
import tomllib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from kds.brain.errors import ConfigError, Problem
from kds.clients.json_edit import (
    JsonTextError,
    KeyPath,
    Node,
    insert,
    parse_json_text,
    remove,
    replace,
)
from kds.clients.table import SERVER, HookStyle, McpStyle, calls_hook, calls_server

EMPTY: Final = "{}\n"
HOOKS: Final = "hooks"
SERVER_LISTS: Final = ("mcpServers", "servers", "mcp")
HOOK_TIMEOUT_S: Final = 5
"""`kds-hook` gives up much earlier by itself; this is for a machine that hangs."""

_HANDLER_DEPTH: Final = 5
"""Keys to a handler in a group of Claude Code's: `hooks`, event, index, `hooks`, index."""
_COMMAND_KEYS: Final = ("command", "bash", "powershell")
_BY_HAND: Final = "correct it by hand: nothing was changed"
_TAKEN: Final = f"an MCP server named '{SERVER}' is there, and it is not this one"
_RENAME: Final = "rename it, or leave out --mcp"

_TOML_SERVERS: Final = "mcp_servers"
_OURS: Final = rf"[ \t]*\[[ \t]*{_TOML_SERVERS}[ \t]*\.[ \t]*\"?{SERVER}\"?[ \t]*"
_HEADER: Final = re.compile(rf"{_OURS}\]")
_OTHER_HEADER: Final = re.compile(rf"(?!{_OURS}\.)[ \t]*\[")
_TOML_LINE: Final = re.compile(r"at line (\d+)")

_HEADING: Final = "# KDS: conversations and caches stay on this machine"


@dataclass(frozen=True, slots=True)
class _HookForm:
    """How a client has a command run: its events, and the keys of an entry."""

    events: tuple[str, ...]
    """Of a prompt, the start of a session, and the ends of turns and sessions."""
    tools: Mapping[str, str]
    """Of calls that may read a file, with the tools that are asked about."""
    limit: tuple[str, int]
    key: str = "command"
    grouped: bool = True


_TIMEOUT: Final = ("timeout", HOOK_TIMEOUT_S)
_CLAUDE_FORM: Final = _HookForm(
    ("UserPromptSubmit", "SessionStart", "Stop", "SessionEnd", "PreCompact"),
    {"PreToolUse": "Read|Grep|Bash"}, _TIMEOUT,
)  # fmt: skip
_FORMS: Final[Mapping[HookStyle, _HookForm]] = {
    "claude": _CLAUDE_FORM,
    # It warns of more than three seconds for the end of a session.
    "codex": _HookForm(_CLAUDE_FORM.events, _CLAUDE_FORM.tools, ("timeout", 3)),
    "gemini": _HookForm(  # its PreCompress comes with every prompt (tried with 0.61.0)
        ("BeforeAgent", "SessionStart", "AfterAgent", "SessionEnd"),
        {"BeforeTool": "read_.*|grep_.*|search_.*|run_shell_command"},
        ("timeout", HOOK_TIMEOUT_S * 1000),
    ),
    "copilot": _HookForm(
        ("userPromptSubmitted", "sessionStart", "agentStop", "sessionEnd", "preCompact"),
        {"preToolUse": ""}, ("timeoutSec", HOOK_TIMEOUT_S), "bash", grouped=False,
    ),
    "cursor": _HookForm(
        ("beforeSubmitPrompt", "sessionStart", "stop", "sessionEnd", "preCompact"),
        {"beforeReadFile": "", "beforeShellExecution": ""}, _TIMEOUT, grouped=False,
    ),
}  # fmt: skip
PROMPT_EVENTS: Final = frozenset(form.events[0] for form in _FORMS.values())


def hook_entries(command: str, *, style: HookStyle, tools: bool = False) -> dict[str, object]:
    """The entry for each event, that of a prompt first; with ``tools`` also for calls of tools that
    may read a file."""
    form = _FORMS[style]
    entry: dict[str, object] = {"type": "command", form.key: command, form.limit[0]: form.limit[1]}
    if form.grouped:
        entry = {"hooks": [entry]}
    entries: dict[str, object] = dict.fromkeys(form.events, entry)
    for event, matcher in form.tools.items() if tools else ():
        entries[event] = {"matcher": matcher, **entry} if matcher else entry
    return entries


def hook_settings(command: str, *, style: HookStyle) -> dict[str, object]:
    """The content of a settings file that has only these hooks."""
    entries = hook_entries(command, style=style)
    return {"hooks": {event: [entry] for event, entry in entries.items()}}


def mcp_server(program: str, *, style: McpStyle) -> dict[str, object]:
    """The entry of the MCP server.

    VS Code and Cursor do not promise to start it in the folder of the project, but fill that in;
    the others start it there (tried).
    """
    if style == "opencode":
        return {"type": "local", "command": [program, "mcp"], "enabled": True}
    if style == "plain":
        return {"command": program, "args": ["mcp"]}
    folder = [] if style == "claude" else ["--workspace", "${workspaceFolder}"]
    return {"type": "stdio", "command": program, "args": ["mcp", *folder]}


class SettingsFileError(ConfigError):
    """A settings file cannot be read, or is not in the form that its client reads."""

    def __init__(self, where: str, message: str, hint: str) -> None:
        super().__init__([Problem(where, message, hint)])


@dataclass(frozen=True, slots=True)
class FoundHook:
    """A hook of ours: its event, its path, and the key and text of its command."""

    event: str
    path: KeyPath
    key: str
    command: str


@dataclass(slots=True)
class SettingsFile:
    """The text of a settings file, edited step by step. ``where`` names the file in errors."""

    where: str
    text: str

    def root(self) -> Node:
        """The text as a tree. Raises SettingsFileError."""
        try:
            root = parse_json_text(self.text)
        except JsonTextError as error:
            hint = f"correct column {error.column} by hand: nothing was changed"
            where, message = f"{self.where}:{error.line}", f"invalid JSON: {error.message}"
            raise SettingsFileError(where, message, hint) from error
        if root.kind != "object":
            raise self._refusal(root, "the file is not an object", _BY_HAND)
        return root

    def hooks(self) -> list[FoundHook]:
        """Our hooks, in the order of the file."""
        hooks = self.root().find((HOOKS,))
        return [
            found
            for event in (hooks.parts if hooks else ())
            for found in _our_hooks(str(event.key), (HOOKS, event.key), event.node)
        ]

    def set_hooks(self, wanted: Mapping[str, object]) -> None:
        """Have exactly one hook of ours for each event in ``wanted``, which has its entry.

        An existing one keeps its place and the user's additions.
        """
        left = dict(wanted)
        for found in reversed(self.hooks()):
            entry = left.pop(found.event, None)
            if entry is None:
                self._take_out(found.path)
            elif (command := _command_of(entry)) != found.command:
                self.text = replace(self.text, (*found.path, found.key), command)
        for event, entry in left.items():
            place = (HOOKS, event)
            if self._container((HOOKS,), "object") and self._container(place, "array"):
                self.text = insert(self.text, place, None, entry)
            else:
                self._set_member(HOOKS, event, [entry])

    def set_server(self, container: str, entry: Mapping[str, object]) -> None:
        """Have our MCP server under its name. Raises SettingsFileError when the name is taken."""
        place = (container, SERVER)
        node = self.root().find(place)
        if node is None:
            self._set_member(container, SERVER, entry)
            return
        if not calls_server(node.value()):
            raise self._refusal(node, _TAKEN, _RENAME)
        for key in (key for key in ("command", "args") if key in entry):
            part = self.root().find((*place, key))
            if part is None:
                self.text = insert(self.text, place, key, entry[key])
            elif part.value() != entry[key]:
                self.text = replace(self.text, (*place, key), entry[key])

    def set_default(self, key: str, value: object) -> None:
        """Add a member that the client needs, unless it is there."""
        if self.root().find((key,)) is None:
            self.text = insert(self.text, (), key, value)

    def take_out_all(self) -> None:
        """Remove every entry of ours, and the containers that held only them."""
        self.set_hooks({})
        for place in ((name, SERVER) for name in SERVER_LISTS):
            node = self.root().find(place)
            if node is not None and calls_server(node.value()):
                self._take_out(place)

    def _take_out(self, path: KeyPath) -> None:
        """Remove the part at ``path``, and each container that is empty without it."""
        self.text = remove(self.text, path)
        above = path[:-1]
        node = self.root().find(above) if above else None
        if node is not None and not self.text[node.start + 1 : node.end - 1].strip():
            # a group of Claude Code's goes with its last handler, whatever else is in it
            self._take_out(above[:-1] if len(path) == _HANDLER_DEPTH else above)

    def is_bare(self) -> bool:
        """Whether the file holds only what KDS began it with."""
        return "".join(self.text.split()) in ("", "{}", '{"version":1}')

    def _set_member(self, container: str, key: str, value: object) -> None:
        if self._container((container,), "object") is None:
            self.text = insert(self.text, (), container, {key: value})
        else:
            self.text = insert(self.text, (container,), key, value)

    def _container(self, path: tuple[str, ...], kind: str) -> Node | None:
        """The container at ``path``. Raises SettingsFileError when it is of another kind."""
        node = self.root().find(path)
        if node is not None and node.kind != kind:
            raise self._refusal(node, f"'{'.'.join(path)}' is not an {kind}", _BY_HAND)
        return node

    def _refusal(self, node: Node, message: str, hint: str) -> SettingsFileError:
        line = self.text.count("\n", 0, node.start) + 1
        return SettingsFileError(f"{self.where}:{line}", message, hint)


def _our_hooks(event: str, path: KeyPath, node: Node) -> Iterator[FoundHook]:
    for part in node.parts:
        value = part.node.scalar
        if part.key in _COMMAND_KEYS and isinstance(value, str) and calls_hook(value):
            yield FoundHook(event, path, str(part.key), value)
            return
    for part in node.parts:  # a group has its handlers in a list of its own
        yield from _our_hooks(event, (*path, part.key), part.node)


def _command_of(entry: object) -> str:
    """The command of an entry that we made ourselves."""
    handler = entry[HOOKS][0] if isinstance(entry, dict) and HOOKS in entry else entry
    assert isinstance(handler, dict)
    return str(next(handler[key] for key in _COMMAND_KEYS if key in handler))


def codex_server(text: str, where: str) -> dict[str, Any] | None:
    """The entry called `kds` in a configuration of Codex, or None. Raises SettingsFileError."""
    try:
        servers = tomllib.loads(text).get(_TOML_SERVERS, {})
    except tomllib.TOMLDecodeError as error:
        line = _TOML_LINE.search(str(error))
        place = f"{where}:{line[1]}" if line else where
        raise SettingsFileError(place, f"invalid TOML: {error}", "correct it by hand") from error
    if not isinstance(servers, dict):
        raise SettingsFileError(where, f"'{_TOML_SERVERS}' is not a table", "correct it by hand")
    entry = servers.get(SERVER)
    return entry if isinstance(entry, dict) else None


def with_codex_server(text: str, program: str, where: str) -> str:
    """The text with our server as a table at its end. Raises SettingsFileError.

    The text is parsed before and after; all other lines stay as they are.

    >>> print(with_codex_server('model = "o3"', "kds", "config.toml"), end="")
    model = "o3"
    <BLANKLINE>
    [mcp_servers.kds]
    command = "kds"
    args = ["mcp"]
    """
    entry, ours = codex_server(text, where), {"command": program, "args": ["mcp"]}
    if entry is not None and not calls_server(entry):
        raise SettingsFileError(where, _TAKEN, _RENAME)
    if entry is not None and ours.items() <= entry.items():
        return text
    # a basic string is the same in JSON and in TOML
    wanted = {key: f"{key} = {json.dumps(ours[key], ensure_ascii=False)}" for key in ours}
    end = _newline(text)
    lines = text.splitlines(keepends=True)
    if entry is None:
        gap = [] if not text else [end] if text.endswith(("\n", "\r")) else [end * 2]
        new = (f"[{_TOML_SERVERS}.{SERVER}]", *wanted.values())
        lines += [*gap, *(line + end for line in new)]
    else:  # where each of our two keys has a line of its own
        for at in range(*_table(lines)):
            key = lines[at].partition("=")[0].strip()
            if key in wanted:
                lines[at] = wanted[key] + lines[at][len(lines[at].rstrip("\r\n")) :]
    changed = "".join(lines)
    try:
        if ours.items() <= tomllib.loads(changed)[_TOML_SERVERS][SERVER].items():
            return changed
    except (tomllib.TOMLDecodeError, KeyError, TypeError, AttributeError):
        pass
    message = f"has '{_TOML_SERVERS}' in a form that only a person can add to"
    hint = f"write it as [{_TOML_SERVERS}.NAME] tables, or leave out --mcp"
    raise SettingsFileError(where, message, hint)


def without_codex_server(text: str, where: str) -> str:
    """The text without our server and the blank line before it. Raises SettingsFileError."""
    if not calls_server(codex_server(text, where)):
        return text
    lines = text.splitlines(keepends=True)
    start, end = _table(lines)
    if start > 0 and not lines[start - 1].strip():
        start -= 1
    return "".join(lines[:start] + lines[end:])


def _table(lines: list[str]) -> tuple[int, int]:
    """The lines of our table and its subtables, without the comments before the next table."""
    start = next((at for at, line in enumerate(lines) if _HEADER.match(line)), len(lines))
    after = (at for at in range(start + 1, len(lines)) if _OTHER_HEADER.match(lines[at]))
    end = next(after, len(lines))
    while end > start + 1 and lines[end - 1].lstrip()[:1] in ("", "#"):
        end -= 1
    return start, end


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
    end = _newline(text)
    gap = "" if not text or text.endswith(("\n", "\r")) else end
    heading = [] if _HEADING in present else [_HEADING]
    return text + gap + "".join(line + end for line in [*heading, *missing])


def without_lines(text: str, lines: Iterable[str]) -> str:
    """The text without our heading and ``lines``; all other lines stay as they are."""
    ours = {_HEADING, *lines}
    return "".join(line for line in text.splitlines(keepends=True) if line.strip() not in ours)


def _newline(text: str) -> str:
    return "\r\n" if "\r\n" in text else "\n"
