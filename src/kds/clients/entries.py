"""What KDS puts into the settings of a client: a hook, and an MCP server.

Sources: Claude Code's settings and hooks reference; GitHub's hooks reference for the Copilot
CLI; VS Code's MCP configuration reference; Cursor's MCP page.
"""

from typing import Final, Literal

HOOK_PROGRAM: Final = "kds-hook"
NO_START: Final = "--no-start"
NEVER_FAILS: Final = " || true"
SERVER: Final = "kds"
"""The name of the MCP server in every client."""

HOOK_TIMEOUT_S: Final = 5
"""`kds-hook` gives up by itself much earlier; this is for a machine that hangs."""

HookStyle = Literal["claude", "copilot"]
McpStyle = Literal["claude", "vscode", "cursor"]

PROMPT_EVENTS: Final[dict[HookStyle, str]] = {
    "claude": "UserPromptSubmit",
    "copilot": "userPromptSubmitted",
}
START_EVENTS: Final[dict[HookStyle, str]] = {"claude": "SessionStart", "copilot": "sessionStart"}


def shared_command(*, start: bool, program: str = HOOK_PROGRAM) -> str:
    """The command line of the hook, which may ``start`` the service.

    `|| true`: whoever has the files of a team without KDS itself is not to see an error with
    each prompt; `kds doctor` says when the program is missing.
    """
    return f"{program}{'' if start else f' {NO_START}'}{NEVER_FAILS}"


def hook_settings(
    command: str, *, style: HookStyle, version_key: bool = False
) -> dict[str, object]:
    """The `hooks` object of a settings file."""
    handler: dict[str, object] = {"type": "command"}
    if style == "copilot":
        handler |= {"bash": command, "timeoutSec": HOOK_TIMEOUT_S}
        entry: dict[str, object] = handler
    else:
        handler |= {"command": command, "timeout": HOOK_TIMEOUT_S}
        entry = {"hooks": [handler]}
    events = [PROMPT_EVENTS[style], START_EVENTS[style]]
    hooks: dict[str, object] = {"hooks": {event: [entry] for event in events}}
    return {"version": 1, **hooks} if version_key else hooks


def mcp_server(program: str, *, style: McpStyle) -> dict[str, object]:
    """The entry of the MCP server.

    Claude Code and the Copilot CLI start it in the folder of the project. VS Code and Cursor
    do not promise that, and fill in the folder themselves.
    """
    folder = [] if style == "claude" else ["--workspace", "${workspaceFolder}"]
    return {"type": "stdio", "command": program, "args": ["mcp", *folder]}
