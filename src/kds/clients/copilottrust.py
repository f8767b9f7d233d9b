"""Does the Copilot CLI trust the project? Where it does not, it leaves out hooks and servers.

It says nothing about that (tried with 1.0.102). Sources: GitHub's page on configuring the Copilot
CLI, for the place of the list and for "in, and below"; the form of the file was looked at.
"""

import os
from collections.abc import Iterator
from pathlib import Path
from shutil import which

from kds.clients.health import Finding
from kds.clients.project import COPILOT_MCP, Project
from kds.clients.projectfile import read_project_text
from kds.clients.settingsfile import SettingsFile
from kds.clients.table import SHARED_MCP


def trust(project: Project, *, has_hook: bool) -> Iterator[Finding]:
    """Whether Copilot reads what is set up here. Raises ConfigError for its settings.

    Nothing where Copilot is not installed, or there is nothing for it to read.
    """
    config = copilot_home() / "config.json"
    has_server = any((project.folder / name).exists() for name in (SHARED_MCP, COPILOT_MCP))
    if not (has_hook or has_server) or not (which("copilot") or config.exists()):
        return
    if is_trusted(project.folder, config):
        yield Finding("trust", "ok", f"the Copilot CLI trusts {project.folder}")
        return
    found = f"the Copilot CLI does not trust {project.folder}: there it runs no hook and no server"
    fix = f"start copilot in {project.folder}, and trust the folder for future sessions"
    yield Finding("trust", "note", found, fix)


def is_trusted(folder: Path, config: Path) -> bool:
    """Whether Copilot's settings name the folder, or one above it. Raises ConfigError."""
    text = read_project_text(config)
    if not text or not text.strip():
        return False
    settings = SettingsFile(str(config), text).root().value()
    trusted = settings.get("trustedFolders") if isinstance(settings, dict) else None
    real = Path(os.path.realpath(folder))
    names = (name for name in trusted if isinstance(name, str)) if isinstance(trusted, list) else ()
    return any(real.is_relative_to(os.path.realpath(name)) for name in names if name)


def copilot_home() -> Path:
    """Copilot's folder of user settings, as its documentation names it."""
    return Path(os.environ.get("COPILOT_HOME") or Path.home() / ".copilot")
