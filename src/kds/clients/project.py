"""A project that KDS is set up in: its folder, and reading and writing files in it."""

import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from shutil import which
from typing import Final, NamedTuple

from kds.brain.environment import is_owned
from kds.brain.errors import ConfigError, Problem
from kds.brain.workspace import Workspace
from kds.clients import table
from kds.clients.table import Client

_NESTED: Final = "KDS"
_REPOSITORIES: Final = (".git", ".hg", ".jj")
"""`.git` is a file in a submodule and in a worktree: both are projects of their own."""


class ProjectFileError(ConfigError):
    """A file of the project cannot be read or written as it stands."""


class Project(NamedTuple):
    """A project folder and its workspace."""

    folder: Path
    workspace: Workspace

    @classmethod
    def of(cls, workspace: Workspace) -> "Project":
        """The project of a workspace: its folder, or the parent if that folder is called KDS."""
        root = workspace.root
        return cls(root.parent if root.name == _NESTED else root, workspace)

    def path(self, name: str) -> Path:
        """A file of the project.

        Raises ProjectFileError when a link leads out of the project, or into the folder of
        version control: git runs programs that its files name.
        """
        path = self.folder / name
        inside, real = Path(os.path.realpath(self.folder)), Path(os.path.realpath(path))
        hint = "put an ordinary file or folder in its place, or edit the target by hand"
        if not real.is_relative_to(inside):
            raise _refusal(path, "is reached by a link that leaves the project", hint)
        if {*map(str.casefold, real.relative_to(inside).parts)} & {*_REPOSITORIES}:
            raise _refusal(path, "is reached by a link into the files of version control", hint)
        return path

    def read(self, name: str) -> str | None:
        """The text of a file of the project, None if there is none. Raises ProjectFileError."""
        return read_project_text(self.path(name))

    def name(self, path: Path) -> str:
        """A path of the project as it is shown: below its folder, with "/"."""
        return path.relative_to(self.folder).as_posix()

    def hook_files(self) -> tuple[str, ...]:
        """Every file of the project from which a client may run hooks."""
        folder = self.folder / ".github" / "hooks"
        found = (self.name(path) for path in sorted(folder.glob("*.json")))
        usual = (*table.SHARED_HOOK_FILES, *found, *table.OWN_HOOK_FILES)
        return tuple(dict.fromkeys(usual))

    def clients_in_use(self) -> Iterator[tuple[Client, str]]:
        """The clients that seem to be in use here, each with the reason."""
        for client, traits in table.CLIENT_TABLE.items():
            sign = next((name for name in traits.signs if (self.folder / name).exists()), None)
            if sign is not None:
                yield client, sign
            elif traits.program and which(traits.program):
                yield client, f"`{traits.program}` on the PATH"


def repository_of(folder: Path) -> Path | None:
    """The top of the repository that a folder is in, or None.

    A home folder under version control holds dot files and is not a project. Neither is a folder
    such as /tmp in which another user has put a `.git`: their programs would run in it.
    """
    for place in (folder, *folder.parents):
        marks = (place / mark for mark in _REPOSITORIES)
        if any(mark.exists() and is_owned(str(mark), str(folder)) for mark in marks):
            return None if place == Path.home() else place
    return None


def read_project_text(path: Path) -> str | None:
    """The text of an ordinary file with its line ends as they are; None if there is none.

    Raises ProjectFileError, also for text that is not UTF-8.
    """
    with _refusing("read", path):
        if not path.exists() and not path.is_symlink():
            return None
        if not path.exists():
            raise _refusal(path, "is a link that leads nowhere", "remove the link")
        if not path.is_file():
            raise _refusal(path, "is not an ordinary file", "rename or remove it")
        content = path.read_bytes()
    try:
        return content.decode("utf-8")
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        raise _refusal(f"{path}:{line}", "is not UTF-8 text", "save the file as UTF-8") from error


def write_project_text(path: Path, text: str | None) -> None:
    """Replace the content of ``path`` at once; an existing file keeps its mode. None removes it.

    Missing folders are made. A link is followed, so that it stays one. Raises ProjectFileError.
    """
    if text is None:
        with _refusing("remove", path):
            path.unlink(missing_ok=True)
        return
    target = Path(os.path.realpath(path))
    beside = target.with_name(f".{target.name}.{os.urandom(6).hex()}.tmp")
    with _refusing("write", path):
        try:
            target.parent.mkdir(parents=True, exist_ok=True)
            mode = stat.S_IMODE(target.stat().st_mode) if target.exists() else None
            if mode is not None and not mode & 0o222:
                raise PermissionError(0, "the file is read-only")
            with beside.open("xb") as file:
                file.write(text.encode("utf-8"))
                file.flush()
                os.fsync(file.fileno())
            if mode is not None:
                beside.chmod(mode)
            beside.replace(target)
        finally:
            beside.unlink(missing_ok=True)


def remove_empty(folder: Path) -> None:
    """Remove a folder unless there is something in it."""
    with suppress(OSError):
        folder.rmdir()


@contextmanager
def _refusing(action: str, path: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        message = f"cannot {action} it: {error.strerror or type(error).__name__}"
        raise _refusal(path, message, "check the file and its rights") from error


def _refusal(where: Path | str, message: str, hint: str) -> ProjectFileError:
    return ProjectFileError([Problem(str(where), message, hint)])
