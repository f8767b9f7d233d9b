"""Whether what was loaded is still on the disk: KDS itself, a workspace's prompts and rules.

pip takes an installation away and puts another in its place while services, chats and MCP servers
run. What they have loaded goes on working; what they would still read is of another version.
"""

import os
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Final

from kds import brain
from kds.brain.workspace import Workspace

Mark = tuple[tuple[str, int, int, int], ...]
"""Name, time, size and number of every file. One that is gone is a state like any other."""

_ROOT: Final = Path(brain.__file__).parent.parent
_CODE: Final = (".py", ".yaml", ".md", ".npz", ".json", ".html", ".sql")
_SENTINELS: Final = ("__init__.py", "brain/turn.py", "router/english/concepts.yaml")


class Installation:
    """Knows whether the files that this process was started from are still there."""

    def __init__(self, root: Path = _ROOT, *, every_file: bool = True) -> None:
        """``every_file``: for `is_changed`, which takes some milliseconds."""
        self._root = root
        self._few = tuple(root / name for name in _SENTINELS)
        self._quick = _mark(self._few)
        self._whole = _mark(self._files()) if every_file else ()

    def is_replaced(self) -> bool:
        """Look at three files: pip replaces all of them, or none. Takes some ten microseconds."""
        return _mark(self._few) != self._quick

    def is_changed(self) -> bool:
        """Look at all files, which finds single ones that were edited. Takes some milliseconds."""
        return _mark(self._files()) != self._whole

    def _files(self) -> Iterator[Path]:
        for folder, inner, names in os.walk(self._root, followlinks=True):
            inner[:] = [name for name in inner if name != "__pycache__"]
            yield from (Path(folder, name) for name in names if name.endswith(_CODE))


def fingerprint(workspace: Workspace) -> Mark:
    """What tells one state of a workspace's prompts and rules from another. Takes 0.2 ms."""
    from kds.router.prompts.library import FOLDERS  # a client of the service needs none of it
    from kds.router.prompts.promptfile import SUFFIX

    prompts = [workspace.prompts_dir / name for name in FOLDERS]
    places = [(folder, pattern) for folder in prompts for pattern in ("*.md", f"*{SUFFIX}")]
    places += [(workspace.rules_dir, "*.yaml"), (workspace.english_dir, "*.yaml")]
    return _mark(path for folder, pattern in places for path in _listed(folder, pattern))


def _listed(folder: Path, pattern: str) -> list[Path]:
    """The files of a folder; none of one that goes away while it is listed."""
    try:
        return list(folder.glob(pattern))
    except OSError:
        return []


def _mark(paths: Iterable[Path]) -> Mark:
    return tuple(sorted(map(_state, paths)))


def _state(path: Path) -> tuple[str, int, int, int]:
    try:
        found = path.stat()
    except OSError:
        return str(path), -1, -1, -1
    return str(path), found.st_mtime_ns, found.st_size, found.st_ino
