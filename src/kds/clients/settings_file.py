"""Our hooks and our MCP server in the JSON settings of a client, which belong to the user.

Sources for the forms: Claude Code's settings and hooks reference; GitHub's hooks reference for the
Copilot CLI; VS Code's MCP configuration reference; Cursor's pages on hooks and MCP; the hook
reference in the package of Gemini CLI; the schemas in the binary of Codex.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Final

from kds.brain.errors import ConfigError, Problem
from kds.clients.json_edit import (
    JsonTextError,
    Key,
    KeyPath,
    Node,
    insert,
    parse_json_text,
    remove,
    replace,
)
from kds.clients.programs import SERVER, calls_hook, calls_server
from kds.clients.table import HookStyle, McpStyle

EMPTY: Final = "{}\n"
HOOKS: Final = "hooks"
SERVER_LISTS: Final = ("mcpServers", "servers", "mcp")
HOOK_TIMEOUT_S: Final = 5
"""`kds-hook` gives up much earlier by itself; this is for a machine that hangs."""

_HANDLER_DEPTH: Final = 5
"""Keys to a handler in a group of Claude Code's: `hooks`, event, index, `hooks`, index."""
_COMMAND_KEYS: Final = ("command", "bash", "powershell")
_BY_HAND: Final = "correct it by hand: nothing was changed"


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
    "codex": _CLAUDE_FORM,
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
    """A settings file is not JSON, or not in the form that its client reads."""


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
            message = f"invalid JSON: {error.message}"
            raise SettingsFileError(
                [Problem(f"{self.where}:{error.line}", message, hint)]
            ) from error
        if root.kind != "object":
            raise self._refusal(root, "the file is not an object", _BY_HAND)
        return root

    def hooks(self) -> list[FoundHook]:
        """Our hooks, in the order of the file."""
        return list(_our_hooks(self.root()))

    def servers(self) -> Iterator[KeyPath]:
        """The places of the MCP servers called `kds`."""
        root = self.root()
        yield from ((name, SERVER) for name in SERVER_LISTS if root.find((name, SERVER)))

    def set_hooks(self, wanted: Mapping[str, object]) -> None:
        """Have exactly one hook of ours for each event in ``wanted``, which has its entry.

        An existing one keeps its place and the user's additions.
        """
        left = dict(wanted)
        for found in reversed(self.hooks()):
            entry = left.pop(found.event, None)
            if entry is None:
                self.take_out(found.path)
            elif (command := _command_of(entry)) != found.command:
                self.text = replace(self.text, (*found.path, found.key), command)
        for event, entry in left.items():
            place = (HOOKS, event)
            items = self._container((HOOKS,), "object") and self._container(place, "array")
            if items is None:
                self._set_member((HOOKS,), event, [entry])
            else:
                self.text = insert(self.text, place, None, entry)

    def set_server(self, container: str, entry: Mapping[str, object]) -> None:
        """Have our MCP server under its name. Raises SettingsFileError when the name is taken."""
        place = (container, SERVER)
        node = self.root().find(place)
        if node is None:
            self._set_member((container,), SERVER, entry)
            return
        if not calls_server(node.value()):
            message = f"an MCP server named '{SERVER}' is there, and it is not this one"
            raise self._refusal(node, message, "rename it, or leave out --mcp")
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

    def take_out_hooks(self) -> None:
        """Remove our hooks, and the containers that held only them."""
        for found in reversed(self.hooks()):
            self.take_out(found.path)

    def take_out_all(self) -> None:
        """Remove every entry of ours, and the containers that held only them."""
        self.take_out_hooks()
        for place in list(self.servers()):
            node = self.root().find(place)
            if node is not None and calls_server(node.value()):
                self.take_out(place)

    def take_out(self, path: KeyPath) -> None:
        """Remove the part at ``path``, and each container that is empty without it."""
        self.text = remove(self.text, path)
        above = path[:-1]
        if not above or not self._is_empty(above):
            return
        # a group of Claude Code's goes with its last handler, whatever else is in it
        self.take_out(above[:-1] if len(path) == _HANDLER_DEPTH else above)

    def is_bare(self) -> bool:
        """Whether the file holds only what KDS began it with."""
        return "".join(self.text.split()) in ("", "{}", '{"version":1}')

    def _set_member(self, path: tuple[str], key: str, value: object) -> None:
        if self._container(path, "object") is None:
            self.text = insert(self.text, (), path[0], {key: value})
        else:
            self.text = insert(self.text, path, key, value)

    def _container(self, path: tuple[str, ...], kind: str) -> Node | None:
        """The container at ``path``. Raises SettingsFileError when it is of another kind."""
        node = self.root().find(path)
        if node is not None and node.kind != kind:
            raise self._refusal(node, f"'{'.'.join(path)}' is not an {kind}", _BY_HAND)
        return node

    def _is_empty(self, path: KeyPath) -> bool:
        """Whether a container holds nothing, not even a comment."""
        node = self.root().find(path)
        return node is not None and not self.text[node.start + 1 : node.end - 1].strip()

    def _refusal(self, node: Node, message: str, hint: str) -> SettingsFileError:
        line = self.text.count("\n", 0, node.start) + 1
        return SettingsFileError([Problem(f"{self.where}:{line}", message, hint)])


def _our_hooks(root: Node) -> Iterator[FoundHook]:
    hooks = root.find((HOOKS,))
    for event in hooks.parts if hooks else ():
        for item in event.node.parts:
            path: KeyPath = (HOOKS, event.key, item.key)
            yield from _handler(event.key, path, item.node)
            nested = item.node.find((HOOKS,))
            for part in nested.parts if nested else ():
                yield from _handler(event.key, (*path, HOOKS, part.key), part.node)


def _handler(event: Key, path: KeyPath, node: Node) -> Iterator[FoundHook]:
    for part in node.parts:
        value = part.node.scalar
        if part.key in _COMMAND_KEYS and isinstance(value, str) and calls_hook(value):
            yield FoundHook(str(event), path, str(part.key), value)
            return


def _command_of(entry: object) -> str:
    """The command of an entry that we made ourselves."""
    handler = entry[HOOKS][0] if isinstance(entry, dict) and HOOKS in entry else entry
    assert isinstance(handler, dict)
    return str(next(handler[key] for key in _COMMAND_KEYS if key in handler))
