"""The documents below a folder: every file of a kind that can be read, in a fixed order.

Hidden folders and those of tools are passed over. A link that leads out of the folder is told,
not followed; one that stays inside leads to what is found anyway.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Final

from kds.readers.reading import kind_of
from kds.readers.sections import DocumentError

PASSED_OVER: Final = frozenset(
    "node_modules __pycache__ venv site-packages kds-brain __MACOSX".split()
)
"""Folders of tools: their files are not the documents of a project."""

DEEPEST: Final = 64


@dataclass(frozen=True, slots=True)
class Choice:
    """Which files of a folder are wanted; patterns of names or of paths below the folder."""

    globs: Sequence[str] = ()
    """Only files that fit one of these; none: every file that can be read."""
    excludes: Sequence[str] = ()
    """Neither files nor folders that fit one of these."""

    def takes(self, path: Path, root: Path) -> bool:
        """Tell whether a file is wanted."""
        if kind_of(path) is None or self.leaves_out(path, root):
            return False
        return not self.globs or _fits(path, root, self.globs)

    def leaves_out(self, path: Path, root: Path) -> bool:
        """Tell whether a file or folder is not wanted."""
        return _fits(path, root, self.excludes)


def documents_in(root: Path, choice: Choice) -> Iterator[Path | DocumentError]:
    """Yield the wanted files below a folder by name, and what cannot be looked at."""
    yield from _below(root, root, choice, 0)


def _below(folder: Path, root: Path, choice: Choice, depth: int) -> Iterator[Path | DocumentError]:
    try:
        entries = sorted(folder.iterdir())
    except OSError as error:
        reason = error.strerror or type(error).__name__
        yield DocumentError(folder, f"cannot be read: {reason}", "check the folder and its rights")
        return
    for path in entries:
        if path.name.startswith(".") or choice.leaves_out(path, root):
            continue
        if path.is_symlink():
            yield from _link(path, root, choice)
        elif path.is_dir():
            if path.name not in PASSED_OVER and depth < DEEPEST:
                yield from _below(path, root, choice, depth + 1)
        elif choice.takes(path, root):
            yield path


def _link(path: Path, root: Path, choice: Choice) -> Iterator[DocumentError]:
    try:
        target = path.resolve(strict=True)
        wanted = target.is_dir() or choice.takes(path, root)
    except (OSError, RuntimeError):  # leads nowhere, or in a circle
        return
    if wanted and not target.is_relative_to(root.resolve()):
        yield DocumentError(
            path, "is a link that leads out of the folder", "name what it leads to, to add that"
        )


def _fits(path: Path, root: Path, patterns: Sequence[str]) -> bool:
    below = path.relative_to(root).as_posix() if path.is_relative_to(root) else path.name
    return any(
        fnmatchcase(path.name, pattern)
        or fnmatchcase(below, pattern)
        or fnmatchcase(below, pattern.removeprefix("**/"))
        for pattern in (one.rstrip("/") for one in patterns)
    )
