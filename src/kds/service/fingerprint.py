"""What tells one state of a workspace's prompts and rules from another."""

from pathlib import Path

from kds.brain.workspace import Workspace
from kds.router.prompts.examplefile import SUFFIX
from kds.router.prompts.texts import FOLDERS

Fingerprint = tuple[tuple[str, int, int, int], ...]


def fingerprint(workspace: Workspace) -> Fingerprint:
    """Name, time, size and number of every file that counts. A file that is gone, or cannot be
    read, is a state like any other."""
    files = [
        *(path for name in FOLDERS for path in (workspace.prompts_dir / name).glob("*.md")),
        *(path for name in FOLDERS for path in (workspace.prompts_dir / name).glob(f"*{SUFFIX}")),
        *workspace.rules_dir.glob("*.yaml"),
        *workspace.english_dir.glob("*.yaml"),
    ]
    return tuple(sorted(_mark(path) for path in files))


def _mark(path: Path) -> tuple[str, int, int, int]:
    try:
        status = path.stat()
    except OSError:  # a link to nowhere, or gone since it was listed: a state like any other
        return str(path), -1, -1, -1
    return str(path), status.st_mtime_ns, status.st_size, status.st_ino
