"""Does Codex run what is set up in the project? It wants a trusted folder, and each hook seen.

It says so at a terminal only (tried with 0.169.0). The forms of both entries are those of its own
code: `[projects."FOLDER"]` with a `trust_level`, and `[hooks.state."FILE:..."]` with the hash of
the hook that somebody has looked at.
"""

import os
import tomllib
from collections.abc import Iterator
from pathlib import Path
from shutil import which
from typing import Any

from kds.clients.health import Finding
from kds.clients.ours import has_kds
from kds.clients.project import Project
from kds.clients.projectfile import read_project_text
from kds.clients.table import CODEX_HOOKS


def codex_trust(project: Project) -> Iterator[Finding]:
    """Whether Codex reads the project's files; nothing where it is not installed or has none.

    Raises ConfigError for a file that cannot be read.
    """
    home = Path(os.environ.get("CODEX_HOME") or Path.home() / ".codex")
    if not which("codex") or not has_kds(project, "codex"):
        return
    known = _settings(home / "config.toml")
    if not _is_trusted(project.folder, known):
        found = f"Codex does not trust {project.folder}: there it runs no hook and no server"
        yield Finding("trust", "note", found, f"start codex in {project.folder}, and trust it")
    elif (project.folder / CODEX_HOOKS).exists() and not _was_seen(project, known):
        found = f"nobody has told Codex yet that the hook in {CODEX_HOOKS} is wanted"
        yield Finding("trust", "note", found, "start codex there, and look at it: /hooks")
    else:
        yield Finding("trust", "ok", f"Codex trusts {project.folder}")


def _settings(path: Path) -> dict[str, Any]:
    try:
        return tomllib.loads(read_project_text(path) or "")
    except tomllib.TOMLDecodeError:  # Codex says so itself, and does not start
        return {}


def _is_trusted(folder: Path, known: dict[str, Any]) -> bool:
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
