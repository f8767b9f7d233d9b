"""The clients: their names, how a project shows them, the files that each reads, and the command
lines by which they call KDS: a name on the PATH, or a path of this machine.

Sources: Claude Code's, VS Code's and Cursor's documentation; GitHub's for the Copilot CLI; for
Codex, Gemini CLI and opencode their npm packages (docs/clients-tested.md has the versions).
"""

import os
import re
import shlex
import shutil
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Literal

from kds.brain.errors import WorkspaceError
from kds.brain.installation import install_line

Client = Literal["claude", "copilot", "vscode", "cursor", "codex", "gemini", "opencode"]
HookStyle = Literal["claude", "copilot", "cursor", "codex", "gemini"]
McpStyle = Literal["claude", "vscode", "cursor", "plain", "opencode"]

CLAUDE_SETTINGS: Final = ".claude/settings.json"
CLAUDE_LOCAL: Final = ".claude/settings.local.json"
COPILOT_HOOKS: Final = ".github/hooks/kds.json"
CURSOR_HOOKS: Final = ".cursor/hooks.json"
CODEX_HOOKS: Final = ".codex/hooks.json"
GEMINI_SETTINGS: Final = ".gemini/settings.json"

SHARED_MCP: Final = ".mcp.json"
COPILOT_MCP: Final = ".github/mcp.json"
VSCODE_MCP: Final = ".vscode/mcp.json"
CURSOR_MCP: Final = ".cursor/mcp.json"
CODEX_CONFIG: Final = ".codex/config.toml"
OPENCODE_CONFIG: Final = "opencode.json"
OPENCODE_CONFIGS: Final = (OPENCODE_CONFIG, "opencode.jsonc")
"""opencode reads both (tried)."""

CURSOR_RULE: Final = ".cursor/rules/kds.mdc"
OPENCODE_PLUGIN: Final = ".opencode/plugin/kds.js"
IGNORE_FILE: Final = ".gitignore"

MCP_FILES: Final = (
    *(SHARED_MCP, COPILOT_MCP, VSCODE_MCP, CURSOR_MCP, GEMINI_SETTINGS), *OPENCODE_CONFIGS
)  # fmt: skip
"""The JSON files that list MCP servers; Codex has a TOML file."""
SHARED_HOOK_FILES: Final = (
    *(CLAUDE_SETTINGS, CLAUDE_LOCAL, COPILOT_HOOKS),
    *(".github/copilot/settings.json", ".github/copilot/settings.local.json"),
)
OWN_HOOK_FILES: Final = (CODEX_HOOKS, GEMINI_SETTINGS, CURSOR_HOOKS)
"""Each is read by one client only; a client may read several of the others."""

CLAUDE_SKILLS: Final = ".claude/skills"
"""Read by all but Codex and Gemini CLI, and the only folder that Claude Code reads (tried)."""
COMMON_SKILLS: Final = ".agents/skills"
"""Read by all but Claude Code."""
SKILL_FOLDERS: Final = (CLAUDE_SKILLS, COMMON_SKILLS)


@dataclass(frozen=True, slots=True)
class HookPlace:
    """The settings file in which a client looks for hooks, and its form."""

    file: str
    style: HookStyle


@dataclass(frozen=True, slots=True)
class ServerPlace:
    """The file in which a client looks for MCP servers, the key of the list, and the form."""

    file: str
    container: str
    style: McpStyle


@dataclass(frozen=True, slots=True)
class Traits:
    """One client. ``signs`` are files that it leaves in a project, ``program`` its command."""

    label: str
    program: str | None = None
    signs: tuple[str, ...] = ()
    hook: HookPlace | None = None
    server: ServerPlace | None = None


CLIENT_TABLE: Final[Mapping[Client, Traits]] = {
    "claude": Traits(
        "Claude Code", "claude", (".claude", "CLAUDE.md"),
        HookPlace(CLAUDE_SETTINGS, "claude"), ServerPlace(SHARED_MCP, "mcpServers", "claude"),
    ),
    "copilot": Traits(
        "Copilot CLI", "copilot",
        (".github/copilot-instructions.md",
         *(f".github/{name}" for name in ("copilot", "hooks", "skills", "agents", "prompts"))),
        HookPlace(COPILOT_HOOKS, "copilot"), ServerPlace(SHARED_MCP, "mcpServers", "claude"),
    ),
    "vscode": Traits(
        "VS Code", "code", (".vscode",),
        HookPlace(COPILOT_HOOKS, "copilot"), ServerPlace(VSCODE_MCP, "servers", "vscode"),
    ),
    "cursor": Traits(
        "Cursor", "cursor", (".cursor",),
        HookPlace(CURSOR_HOOKS, "cursor"), ServerPlace(CURSOR_MCP, "mcpServers", "cursor"),
    ),
    "codex": Traits(
        "Codex CLI", "codex", (".codex",),
        HookPlace(CODEX_HOOKS, "codex"), ServerPlace(CODEX_CONFIG, "mcp_servers", "plain"),
    ),
    "gemini": Traits(
        "Gemini CLI", "gemini", (".gemini", "GEMINI.md"),
        HookPlace(GEMINI_SETTINGS, "gemini"), ServerPlace(GEMINI_SETTINGS, "mcpServers", "plain"),
    ),
    "opencode": Traits(
        "opencode", "opencode", (".opencode", *OPENCODE_CONFIGS),
        server=ServerPlace(OPENCODE_CONFIG, "mcp", "opencode"),
    ),
}  # fmt: skip
"""In the order in which they are listed. `.github` alone does not count for Copilot: most projects
have it."""

CLIENTS: Final[tuple[Client, ...]] = tuple(CLIENT_TABLE)

SHARING: Final[frozenset[Client]] = frozenset(("claude", "copilot", "vscode"))
"""Clients that read Claude Code's hook, by themselves or when their user turns that on."""
HOOK_CLIENTS: Final[frozenset[Client]] = SHARING | {"codex", "gemini", "opencode"}
"""Clients that pass the hook's answer on to the model (tried, except VS Code). Cursor's
documentation does not describe that for prompts; its version 3.20 is said to do it."""

HOOK_PROGRAM: Final = "kds-hook"
NEVER_FAILS: Final = " 2>/dev/null || true"
"""A colleague without KDS must not see an error: Gemini CLI shows the stderr and the exit code of
a hook with each prompt. `kds-hook` itself writes nothing there."""
SERVER: Final = "kds"
"""The name of the program, and of the MCP server in every client."""

_ENVIRONMENT_MARKS: Final = ("pyvenv.cfg", "conda-meta")
"""What lies beside the `bin` folder of a virtual environment, and of a conda environment."""
_HOOK_CALL: Final = re.compile(r"(?:^|[\\/\s\"'])kds-hook(?:\.exe)?(?:[\s\"';|&]|$)")
_OTHERS: Final = ("docker", "uvx", "pipx")
"""The last two fetch a package by the name of its program: `kds` is another author's package."""


@dataclass(frozen=True, slots=True)
class Programs:
    """How the two programs are called. ``shared``: the names work on any machine."""

    hook: str
    kds: str
    shared: bool


def find_programs() -> Programs:
    """The names if they are on the PATH outside of any environment, else absolute paths.

    A terminal may have an environment active; an assistant that is started elsewhere has not.
    Raises WorkspaceError when the programs are neither there nor beside this Python.
    """
    folders = os.environ.get("PATH", "").split(os.pathsep)
    search = os.pathsep.join(one for one in folders if one and not _is_environment(one))
    if all(shutil.which(name, path=search) for name in (HOOK_PROGRAM, SERVER)):
        return Programs(HOOK_PROGRAM, SERVER, shared=True)
    beside = str(Path(sys.executable).parent)
    hook, kds = (shutil.which(name, path=beside) for name in (HOOK_PROGRAM, SERVER))
    if hook is None or kds is None:
        message = "the programs kds and kds-hook are neither on the PATH nor beside this Python"
        hint = f"install KDS again: {install_line(tool='pipx install')}"
        raise WorkspaceError(message, where=beside, hint=hint)
    return Programs(shlex.quote(hook), kds, shared=False)


def _is_environment(scripts: str) -> bool:
    try:
        return any((Path(scripts).parent / mark).exists() for mark in _ENVIRONMENT_MARKS)
    except OSError:  # somebody else's folder
        return False


def hook_command(program: str = HOOK_PROGRAM) -> str:
    """The command line of the hook."""
    return f"{program}{NEVER_FAILS}"


def calls_hook(command: str) -> bool:
    """Whether a command line of a client runs our hook.

    >>> calls_hook("/opt/x/bin/kds-hook || true"), calls_hook("my-kds-hooks")
    (True, False)
    """
    return _HOOK_CALL.search(command) is not None


def hook_program(command: str) -> str | None:
    """The program that a hook runs, or None if `kds init` would not write its command.

    A project may come from somebody else, settings included. So the command line is not parsed:
    it is compared with each that runs the hook of the PATH or the one beside this Python.
    """
    on_path = shutil.which(HOOK_PROGRAM)
    beside = shutil.which(HOOK_PROGRAM, path=str(Path(sys.executable).parent))
    paths = {HOOK_PROGRAM: on_path, **{shlex.quote(one): one for one in (on_path, beside) if one}}
    for name, path in paths.items():
        if path and Path(path).is_absolute() and command in (name, hook_command(name)):
            return path  # else it is in the current folder
    return None


def calls_server(entry: object) -> bool:
    """Whether an entry in a list of MCP servers runs our server.

    >>> calls_server({"command": "/opt/x/bin/kds", "args": ["mcp"]})
    True
    >>> calls_server({"command": "docker", "args": ["run", "kds"]})
    False
    """
    if not isinstance(entry, dict):
        return False
    command, words = entry.get("command"), entry.get("args")
    words = words if isinstance(words, list) else []
    if isinstance(command, list):  # opencode has both in one list
        command, *words = command or [""]
    program = Path(str(command).replace("\\", "/")).name.removesuffix(".exe")
    if program in _OTHERS and not {"--from", "--spec"} & set(words):
        return False
    return (program == SERVER and words[:1] == ["mcp"]) or ("kds" in words and "mcp" in words)
