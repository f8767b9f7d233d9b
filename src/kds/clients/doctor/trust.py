"""Do the assistants trust the project? Where they do not, they leave out its hooks and servers.

The Copilot CLI says nothing about that (tried with 1.0.102); Codex does so at a terminal only
(tried with 0.169.0), and wants each hook looked at besides. Sources: GitHub's page on configuring
the Copilot CLI, for the place of the list and for "in, and below"; the form of its file was looked
at. The forms of Codex's entries are those of its own code: `[projects."FOLDER"]` with a
`trust_level`, and `[hooks.state."FILE:..."]` with the hash of the hook that somebody has looked at.
"""

import os
import tomllib
from collections.abc import Iterator
from pathlib import Path
from shutil import which
from typing import Any

from kds.clients.doctor.finding import Finding
from kds.clients.ours import has_kds
from kds.clients.project import COPILOT_MCP, Project
from kds.clients.settings.projectfile import read_project_text
from kds.clients.settings.settingsfile import SettingsFile
from kds.clients.table import CODEX_HOOKS, SHARED_MCP


def copilot_trust(project: Project, *, has_hook: bool) -> Iterator[Finding]:
    """Whether Copilot reads what is set up here. Raises ConfigError for its settings.

    Nothing where Copilot is not installed, or there is nothing for it to read.
    """
    config = Path(os.environ.get("COPILOT_HOME") or Path.home() / ".copilot") / "config.json"
    has_server = any((project.folder / name).exists() for name in (SHARED_MCP, COPILOT_MCP))
    if not (has_hook or has_server) or not (which("copilot") or config.exists()):
        return
    if _copilot_trusts(project.folder, config):
        yield Finding("trust", "ok", f"the Copilot CLI trusts {project.folder}")
        return
    found = f"the Copilot CLI does not trust {project.folder}: there it runs no hook and no server"
    fix = f"start copilot in {project.folder}, and trust the folder for future sessions"
    yield Finding("trust", "note", found, fix)


def codex_trust(project: Project) -> Iterator[Finding]:
    """Whether Codex reads the project's files; nothing where it is not installed or has none.

    Raises ConfigError for a file that cannot be read.
    """
    home = Path(os.environ.get("CODEX_HOME") or Path.home() / ".codex")
    if not which("codex") or not has_kds(project, "codex"):
        return
    known = _settings(home / "config.toml")
    if not _codex_trusts(project.folder, known):
        found = f"Codex does not trust {project.folder}: there it runs no hook and no server"
        yield Finding("trust", "note", found, f"start codex in {project.folder}, and trust it")
    elif (project.folder / CODEX_HOOKS).exists() and not _was_seen(project, known):
        found = f"nobody has told Codex yet that the hook in {CODEX_HOOKS} is wanted"
        yield Finding("trust", "note", found, "start codex there, and look at it: /hooks")
    else:
        yield Finding("trust", "ok", f"Codex trusts {project.folder}")


def _copilot_trusts(folder: Path, config: Path) -> bool:
    """Whether Copilot's settings name the folder, or one above it. Raises ConfigError."""
    text = read_project_text(config)
    if not text or not text.strip():
        return False
    settings = SettingsFile(str(config), text).root().value()
    trusted = settings.get("trustedFolders") if isinstance(settings, dict) else None
    real = Path(os.path.realpath(folder))
    names = (name for name in trusted if isinstance(name, str)) if isinstance(trusted, list) else ()
    return any(real.is_relative_to(os.path.realpath(name)) for name in names if name)


def _settings(path: Path) -> dict[str, Any]:
    try:
        return tomllib.loads(read_project_text(path) or "")
    except tomllib.TOMLDecodeError:  # Codex says so itself, and does not start
        return {}


def _codex_trusts(folder: Path, known: dict[str, Any]) -> bool:
    projects = known.get("projects", {})
    return any(
        isinstance(entry, dict)
        and entry.get("trust_level") == "trusted"
        and folder.resolve().is_relative_to(Path(name))
        for name, entry in projects.items()
    )


def _was_seen(project: Project, known: dict[str, Any]) -> bool:
    states = known.get("hooks", {}).get("state", {})
    return any(str(name).startswith(str(project.folder / CODEX_HOOKS)) for name in states)
