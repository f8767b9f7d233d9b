"""The project that KDS is set up in: its folder, and the files that clients read in it."""

import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from shutil import which
from typing import Final

from kds.brain.errors import Problem
from kds.brain.workspace import Workspace
from kds.clients.generated import CLIENTS, Client
from kds.clients.projectfile import ProjectFileError

CLAUDE_SETTINGS: Final = ".claude/settings.json"
CLAUDE_LOCAL: Final = ".claude/settings.local.json"
COPILOT_HOOKS: Final = ".github/hooks/kds.json"
COPILOT_SETTINGS: Final = (".github/copilot/settings.json", ".github/copilot/settings.local.json")

SHARED_MCP: Final = ".mcp.json"
COPILOT_MCP: Final = ".github/mcp.json"
VSCODE_MCP: Final = ".vscode/mcp.json"
CURSOR_MCP: Final = ".cursor/mcp.json"
MCP_FILES: Final = (SHARED_MCP, COPILOT_MCP, VSCODE_MCP, CURSOR_MCP)

CLAUDE_SKILLS: Final = ".claude/skills"
"""Read by all four clients, and the only folder that Claude Code reads (tried)."""
COMMON_SKILLS: Final = ".agents/skills"
"""Read by all but Claude Code."""
SKILL_FOLDERS: Final = (CLAUDE_SKILLS, COMMON_SKILLS, ".github/skills", ".cursor/skills")

_SIGNS: Final[Mapping[Client, tuple[str, ...]]] = {
    "claude": (".claude", "CLAUDE.md"),
    "copilot": (
        ".github/copilot-instructions.md",
        *(f".github/{name}" for name in ("copilot", "hooks", "skills", "agents", "prompts")),
    ),
    "vscode": (".vscode",),
    "cursor": (".cursor",),
}
"""What a client leaves in a project. `.github` alone is no sign: most have it for other things."""

_PROGRAMS: Final[Mapping[Client, str]] = {
    "claude": "claude",
    "copilot": "copilot",
    "vscode": "code",
    "cursor": "cursor",
}

_NESTED: Final = "KDS"


@dataclass(frozen=True, slots=True)
class Project:
    """A project folder and its workspace. ``home`` is where user settings of Claude Code are."""

    folder: Path
    workspace: Workspace
    claude_home: Path = field(default_factory=lambda: _claude_home())

    @classmethod
    def of(cls, workspace: Workspace) -> "Project":
        """The project of a workspace: its folder, or the one above when that is called KDS."""
        root = workspace.root
        return cls(root.parent if root.name == _NESTED else root, workspace)

    def path(self, name: str) -> Path:
        """A file of the project. Raises ProjectFileError when a link leads out of it."""
        path = self.folder / name
        inside = Path(os.path.realpath(self.folder))
        if not Path(os.path.realpath(path)).is_relative_to(inside):
            problem = Problem(str(path), "is reached by a link that leaves the project", _LINK_HINT)
            raise ProjectFileError([problem])
        return path

    def name(self, path: Path) -> str:
        """A path of the project as it is shown: below its folder, with "/"."""
        return path.relative_to(self.folder).as_posix()

    def hook_files(self) -> tuple[str, ...]:
        """Every file of the project from which a client may run hooks."""
        folder = self.folder / ".github" / "hooks"
        found = (self.name(path) for path in sorted(folder.glob("*.json")))
        names = (CLAUDE_SETTINGS, CLAUDE_LOCAL, COPILOT_HOOKS, *COPILOT_SETTINGS, *found)
        return tuple(dict.fromkeys(names))

    def signs(self, *, path: str | None = None) -> Iterator[tuple[Client, str]]:
        """The clients that seem to be in use here, each with what gives it away.

        A program on ``path`` counts where nothing in the project does.
        """
        for client in CLIENTS:
            marks = (name for name in _SIGNS[client] if (self.folder / name).exists())
            mark = next(marks, None)
            if mark is not None:
                yield client, mark
            elif which(_PROGRAMS[client], path=path):
                yield client, f"`{_PROGRAMS[client]}` on the PATH"


_LINK_HINT: Final = "put an ordinary file or folder in its place, or edit the target by hand"


def _claude_home() -> Path:
    """Claude Code's folder of user settings, as its documentation names it."""
    return Path(os.environ.get("CLAUDE_CONFIG_DIR") or Path.home() / ".claude")
