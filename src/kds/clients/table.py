"""The clients: their names, how a project shows them, and the files that each reads.

Sources: Claude Code's, VS Code's and Cursor's documentation; GitHub's for the Copilot CLI; for
Codex, Gemini CLI and opencode their npm packages (docs/clients-tested.md has the versions).
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final, Literal

Client = Literal["claude", "copilot", "vscode", "cursor", "codex", "gemini", "opencode"]
HookStyle = Literal["claude", "copilot", "cursor", "codex", "gemini"]
McpStyle = Literal["claude", "vscode", "cursor", "plain", "opencode"]

CLAUDE_SETTINGS: Final = ".claude/settings.json"
CLAUDE_LOCAL: Final = ".claude/settings.local.json"
COPILOT_HOOKS: Final = ".github/hooks/kds.json"
COPILOT_SETTINGS: Final = (".github/copilot/settings.json", ".github/copilot/settings.local.json")
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

AGENTS_PAGE: Final = "AGENTS.md"
CURSOR_RULE: Final = ".cursor/rules/kds.mdc"
OPENCODE_PLUGIN: Final = ".opencode/plugin/kds.js"
IGNORE_FILE: Final = ".gitignore"

MCP_FILES: Final = (
    *(SHARED_MCP, COPILOT_MCP, VSCODE_MCP, CURSOR_MCP, GEMINI_SETTINGS), *OPENCODE_CONFIGS
)  # fmt: skip
"""The JSON files that list MCP servers; Codex has a TOML file."""
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
