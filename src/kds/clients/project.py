"""The project that KDS is set up in: its folder, and the files that clients read in it."""

import os
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from kds.brain.discovery import BRAIN, is_owned
from kds.brain.errors import Problem
from kds.brain.workspace import Workspace
from kds.clients.settings.projectfile import ProjectFileError
from kds.clients.table import (
    CLAUDE_SETTINGS,
    CODEX_HOOKS,
    COPILOT_HOOKS,
    CURSOR_HOOKS,
    CURSOR_MCP,
    GEMINI_SETTINGS,
    OPENCODE_CONFIG,
    SHARED_MCP,
    VSCODE_MCP,
    Client,
)

CLAUDE_LOCAL: Final = ".claude/settings.local.json"
COPILOT_SETTINGS: Final = (".github/copilot/settings.json", ".github/copilot/settings.local.json")
COPILOT_MCP: Final = ".github/mcp.json"
OPENCODE_CONFIGS: Final = (OPENCODE_CONFIG, "opencode.jsonc")
"""opencode reads both; a comment in the first is as good as in the second (tried)."""

MCP_FILES: Final = (
    *(SHARED_MCP, COPILOT_MCP, VSCODE_MCP, CURSOR_MCP, GEMINI_SETTINGS), *OPENCODE_CONFIGS
)  # fmt: skip
"""Those in JSON; Codex has a TOML file (`kds.clients.settings.codexconfig`)."""
OWN_HOOK_FILES: Final = (CODEX_HOOKS, GEMINI_SETTINGS, CURSOR_HOOKS)
"""Each is read by one client alone; the others share theirs."""

IGNORE_FILE: Final = ".gitignore"

CLAUDE_SKILLS: Final = ".claude/skills"
"""Read by all but Codex and Gemini CLI, and the only folder that Claude Code reads (tried)."""
COMMON_SKILLS: Final = ".agents/skills"
"""Read by all but Claude Code."""
SKILL_FOLDERS: Final = (CLAUDE_SKILLS, COMMON_SKILLS, ".github/skills", ".cursor/skills")
ALONE_IN_COMMON: Final[tuple[Client, ...]] = ("codex", "gemini")
"""They do not read Claude Code's skills: with it there are two sets on purpose."""

_NESTED: Final = "KDS"


@dataclass(frozen=True, slots=True)
class Project:
    """A project folder and its workspace."""

    folder: Path
    workspace: Workspace

    @property
    def claude_home(self) -> Path:
        """Claude Code's folder of user settings, as its documentation names it."""
        return Path(os.environ.get("CLAUDE_CONFIG_DIR") or Path.home() / ".claude")

    @classmethod
    def of(cls, workspace: Workspace) -> "Project":
        """The project of a workspace: its folder, or the one above when that is called KDS."""
        root = workspace.root
        return cls(root.parent if root.name == _NESTED else root, workspace)

    @classmethod
    def new(cls, workspace: Workspace) -> "Project":
        """The project to set up: the top of the repository where there is no workspace yet.

        Assistants are mostly started there, and Claude Code reads no settings of other folders.
        """
        top = repository_of(workspace.root)
        if workspace.brain.is_dir() or top is None:
            return cls.of(workspace)
        return cls.of(Workspace(top, top / BRAIN))

    def path(self, name: str) -> Path:
        """A file of the project.

        Raises ProjectFileError when a link leads out of it, or to what version control has
        there: git runs programs that its files name.
        """
        path = self.folder / name
        inside, real = Path(os.path.realpath(self.folder)), Path(os.path.realpath(path))
        if not real.is_relative_to(inside):
            problem = Problem(str(path), "is reached by a link that leaves the project", _LINK_HINT)
            raise ProjectFileError([problem])
        if set(real.relative_to(inside).as_posix().casefold().split("/")) & set(_REPOSITORIES):
            message = "is reached by a link into the files of version control"
            raise ProjectFileError([Problem(str(path), message, _LINK_HINT)])
        return path

    def name(self, path: Path) -> str:
        """A path of the project as it is shown: below its folder, with "/"."""
        return path.relative_to(self.folder).as_posix()

    def hook_files(self) -> tuple[str, ...]:
        """Every file of the project from which a client may run hooks."""
        folder = self.folder / ".github" / "hooks"
        found = (self.name(path) for path in sorted(folder.glob("*.json")))
        shared = (CLAUDE_SETTINGS, CLAUDE_LOCAL, COPILOT_HOOKS, *COPILOT_SETTINGS, *found)
        return tuple(dict.fromkeys((*shared, *OWN_HOOK_FILES)))


def repository_of(folder: Path) -> Path | None:
    """The top of the version control that a folder is in, or None.

    A home folder under version control holds dot files, and is no project. Neither is a folder
    that somebody else has put a mark into, such as /tmp: their programs would run in it.
    """
    home = Path.home()
    for place in (folder, *folder.parents):
        if any(is_owned(str(place / mark), str(folder)) for mark in _REPOSITORIES
               if (place / mark).exists()):  # fmt: skip
            return None if place == home else place
    return None


_REPOSITORIES: Final = (".git", ".hg", ".jj")
"""`.git` is a file in a submodule and in a worktree: both are projects of their own."""

_LINK_HINT: Final = "put an ordinary file or folder in its place, or edit the target by hand"
