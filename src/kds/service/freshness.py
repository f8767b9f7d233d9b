"""Whether what was loaded is still on the disk: KDS itself, a workspace's prompts and rules."""

from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path
from typing import Final

from kds import brain
from kds.brain.workspace import Workspace

Mark = tuple[tuple[str, int, int, int], ...]
"""Name, time, size and number of every file. One that is gone is a state like any other."""

_ROOT: Final = Path(brain.__file__).parent.parent


class Installation:
    """Knows whether the installation that this process was started from was replaced.

    What a process has loaded goes on working then; what it would still read is of another version.
    pip replaces all files of an installation or none, so three are looked at.
    """

    def __init__(self, root: Path = _ROOT) -> None:
        names = ("__init__.py", "brain/turn.py", "router/english/verbs.yaml")
        self._paths = [root / name for name in names]
        self._seen = _mark(self._paths)

    def is_replaced(self) -> bool:
        """Look at the files, which takes some ten microseconds."""
        return _mark(self._paths) != self._seen


def fingerprint(workspace: Workspace) -> Mark:
    """What tells one state of a workspace's prompts and rules from another. Takes 0.2 ms."""
    from kds.router.prompts.library import FOLDERS  # a client of the service needs none of it
    from kds.router.prompts.promptfile import SUFFIX

    prompts = [workspace.prompts_dir / name for name in FOLDERS]
    places = [(folder, pattern) for folder in prompts for pattern in ("*.md", f"*{SUFFIX}")]
    places += [(workspace.rules_dir, "*.yaml"), (workspace.english_dir, "*.yaml")]
    found: list[Path] = []
    for folder, pattern in places:
        with suppress(OSError):  # it goes away while it is listed
            found += folder.glob(pattern)
    return _mark(found)


def _mark(paths: Iterable[Path]) -> Mark:
    return tuple(sorted(map(_state, paths)))


def _state(path: Path) -> tuple[str, int, int, int]:
    try:
        found = path.stat()
    except OSError:
        return str(path), -1, -1, -1
    return str(path), found.st_mtime_ns, found.st_size, found.st_ino
