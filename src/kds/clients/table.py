"""The table of clients: what each is called, what gives it away, and where it reads what.

Sources: Claude Code's, VS Code's and Cursor's documentation; GitHub's for the Copilot CLI; for
Codex, Gemini CLI and opencode their npm packages (docs/clients-tested.md has the versions).
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final, Literal

Client = Literal["claude", "copilot", "vscode", "cursor", "codex", "gemini", "opencode", "agents"]
HookStyle = Literal["claude", "copilot", "cursor", "codex", "gemini"]
McpStyle = Literal["claude", "vscode", "cursor", "plain", "opencode"]

CLAUDE_SETTINGS: Final = ".claude/settings.json"
COPILOT_HOOKS: Final = ".github/hooks/kds.json"
CURSOR_HOOKS: Final = ".cursor/hooks.json"
CODEX_HOOKS: Final = ".codex/hooks.json"
GEMINI_SETTINGS: Final = ".gemini/settings.json"

SHARED_MCP: Final = ".mcp.json"
VSCODE_MCP: Final = ".vscode/mcp.json"
CURSOR_MCP: Final = ".cursor/mcp.json"
CODEX_CONFIG: Final = ".codex/config.toml"
OPENCODE_CONFIG: Final = "opencode.json"

CURSOR_RULE: Final = ".cursor/rules/kds.mdc"
OPENCODE_PLUGIN: Final = ".opencode/plugin/kds.js"
AGENTS_PAGE: Final = "AGENTS.md"


@dataclass(frozen=True, slots=True)
class HookPlace:
    """The settings file of a client that names our hook, and its form."""

    file: str
    style: HookStyle


@dataclass(frozen=True, slots=True)
class ServerPlace:
    """The file of a client that names MCP servers, the list in it, and the form of an entry."""

    file: str
    container: str
    style: McpStyle


@dataclass(frozen=True, slots=True)
class Traits:
    """One client. ``signs`` are what it leaves in a project, ``program`` its command."""

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
        "opencode", "opencode", (".opencode", "opencode.json", "opencode.jsonc"),
        server=ServerPlace(OPENCODE_CONFIG, "mcp", "opencode"),
    ),
    "agents": Traits("AGENTS.md"),
}  # fmt: skip
"""In the order in which they are listed. `.github` alone is no sign of Copilot: most projects have
it for other things. `agents` is any other assistant that reads AGENTS.md: only by its name."""

CLIENTS: Final[tuple[Client, ...]] = tuple(CLIENT_TABLE)
