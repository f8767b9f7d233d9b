"""What KDS puts into the settings of a client: a hook, and an MCP server.

Sources: Claude Code's settings and hooks reference; GitHub's hooks reference for the Copilot
CLI; VS Code's MCP configuration reference; Cursor's pages on hooks and MCP; the hook reference in
the package of Gemini CLI; the schemas in the binary of Codex.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from kds.clients.table import HookStyle, McpStyle

HOOK_PROGRAM: Final = "kds-hook"
NO_START: Final = "--no-start"
NEVER_FAILS: Final = " 2>/dev/null || true"
"""Whoever has the files of a team without KDS is to see no error: Gemini CLI shows what a hook
writes to stderr, and its exit code, with each prompt. `kds-hook` itself writes nothing there."""
OLDER_ENDS: Final = (" || true", "")
"""What stands behind the command in files that earlier versions wrote, or people by hand."""
SERVER: Final = "kds"
"""The name of the MCP server in every client."""

HOOK_TIMEOUT_S: Final = 5
"""`kds-hook` gives up by itself much earlier; this is for a machine that hangs."""


@dataclass(frozen=True, slots=True)
class _HookForm:
    """How a client has a command run: its events, and what an entry is called there."""

    prompt: str
    start: str
    limit: tuple[str, int]
    key: str = "command"
    grouped: bool = True


_CLAUDE_FORM: Final = _HookForm("UserPromptSubmit", "SessionStart", ("timeout", HOOK_TIMEOUT_S))
_FORMS: Final[Mapping[HookStyle, _HookForm]] = {
    "claude": _CLAUDE_FORM,
    "codex": _CLAUDE_FORM,
    "gemini": _HookForm("BeforeAgent", "SessionStart", ("timeout", HOOK_TIMEOUT_S * 1000)),
    "copilot": _HookForm(
        "userPromptSubmitted", "sessionStart", ("timeoutSec", HOOK_TIMEOUT_S), "bash", grouped=False
    ),
    "cursor": _HookForm(
        "beforeSubmitPrompt", "sessionStart", ("timeout", HOOK_TIMEOUT_S), grouped=False
    ),
}
PROMPT_EVENTS: Final = frozenset(form.prompt for form in _FORMS.values())


def shared_command(*, start: bool, program: str = HOOK_PROGRAM) -> str:
    """The command line of the hook, which may ``start`` the service.

    `kds doctor` says when the program is missing.
    """
    return f"{program}{'' if start else f' {NO_START}'}{NEVER_FAILS}"


def hook_entries(command: str, *, style: HookStyle) -> dict[str, object]:
    """The entry for a prompt, and that for the start of a session, by their events."""
    form = _FORMS[style]
    entry: dict[str, object] = {"type": "command", form.key: command, form.limit[0]: form.limit[1]}
    if form.grouped:
        entry = {"hooks": [entry]}
    return {form.prompt: entry, form.start: entry}


def hook_settings(command: str, *, style: HookStyle) -> dict[str, object]:
    """A settings file that has nothing but them."""
    entries = hook_entries(command, style=style)
    return {"hooks": {event: [entry] for event, entry in entries.items()}}


def mcp_server(program: str, *, style: McpStyle) -> dict[str, object]:
    """The entry of the MCP server.

    VS Code and Cursor do not promise to start it in the folder of the project, and fill that in
    themselves; the others start it there (tried).
    """
    if style == "opencode":
        return {"type": "local", "command": [program, "mcp"], "enabled": True}
    if style == "plain":
        return {"command": program, "args": ["mcp"]}
    folder = [] if style == "claude" else ["--workspace", "${workspaceFolder}"]
    return {"type": "stdio", "command": program, "args": ["mcp", *folder]}
