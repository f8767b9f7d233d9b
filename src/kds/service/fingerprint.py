"""What tells one state of a workspace's prompts and rules from another."""

from pathlib import Path

from kds.brain.workspace import Workspace
from kds.router.prompts.library import FOLDERS
from kds.router.prompts.promptfile import SUFFIX

Fingerprint = tuple[tuple[str, int, int, int], ...]


def fingerprint(workspace: Workspace) -> Fingerprint:
    """Name, time, size and number of every file that counts. A file that is gone, or cannot be
    read, is a state like any other."""
    prompts = [workspace.prompts_dir / name for name in FOLDERS]
    files = [
        *(path for folder in prompts for path in _listed(folder, "*.md")),
        *(path for folder in prompts for path in _listed(folder, f"*{SUFFIX}")),
        *_listed(workspace.rules_dir, "*.yaml"),
        *_listed(workspace.english_dir, "*.yaml"),
    ]
    return tuple(sorted(_mark(path) for path in files))


def _listed(folder: Path, pattern: str) -> list[Path]:
    """The files of a folder; none of one that goes away while it is listed."""
    try:
        return list(folder.glob(pattern))
    except OSError:
        return []


def _mark(path: Path) -> tuple[str, int, int, int]:
    try:
        status = path.stat()
    except OSError:  # a link to nowhere, or gone since it was listed: a state like any other
        return str(path), -1, -1, -1
    return str(path), status.st_mtime_ns, status.st_size, status.st_ino
