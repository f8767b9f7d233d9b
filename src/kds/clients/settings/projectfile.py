"""Reading and writing the files of a project: not private ones, and not only ours."""

import os
import stat
from contextlib import suppress
from pathlib import Path
from typing import Final

from kds.brain.errors import ConfigError, Problem

MAX_BYTES: Final = 4_000_000
"""A settings file beyond this size is none that a person wrote."""


class ProjectFileError(ConfigError):
    """A file of the project cannot be read or written as it stands."""


def read_project_text(path: Path) -> str | None:
    """The text of an ordinary file with its line ends as they are; None when there is none.

    Raises ProjectFileError, also for what is not UTF-8.
    """
    try:
        status = path.stat()
        if not stat.S_ISREG(status.st_mode):
            raise _refusal(path, "is not an ordinary file", "rename or remove it")
        if status.st_size > MAX_BYTES:
            raise _refusal(path, f"is larger than {MAX_BYTES // 1_000_000} MB", "look at it first")
        content = path.read_bytes()
    except FileNotFoundError:
        if path.is_symlink():
            raise _refusal(path, "is a link that leads nowhere", "remove the link") from None
        return None
    except OSError as error:
        raise _refused("read", path, error) from error
    try:
        return content.decode("utf-8")
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        problem = Problem(f"{path}:{line}", "is not UTF-8 text", "save the file as UTF-8")
        raise ProjectFileError([problem]) from error


def write_project_text(path: Path, text: str) -> None:
    """Put ``text`` in the place of ``path`` at once; an existing file keeps its mode.

    Missing folders are made. A link is followed, so that it stays one. Raises ProjectFileError.
    """
    target = Path(os.path.realpath(path))
    beside = target.with_name(f".{target.name}.{os.urandom(6).hex()}.tmp")
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        mode = _mode_of(target)
        with beside.open("xb") as file:
            file.write(text.encode("utf-8"))
            file.flush()
            os.fsync(file.fileno())
        if mode is not None:
            beside.chmod(mode)
        beside.replace(target)
    except OSError as error:
        with suppress(OSError):
            beside.unlink()
        raise _refused("write", path, error) from error


def remove_project_file(path: Path) -> None:
    """Remove ``path`` when it is there. Raises ProjectFileError."""
    try:
        path.unlink(missing_ok=True)
    except OSError as error:
        raise _refused("remove", path, error) from error


def _mode_of(path: Path) -> int | None:
    """The mode of a file that is to be replaced; PermissionError when it is read-only."""
    try:
        mode = stat.S_IMODE(path.stat().st_mode)
    except FileNotFoundError:
        return None
    if not mode & 0o222:
        raise PermissionError(0, "the file is read-only")
    return mode


def _refused(action: str, path: Path, error: OSError) -> ProjectFileError:
    reason = error.strerror or type(error).__name__
    return _refusal(path, f"cannot {action} it: {reason}", "check the file and its rights")


def _refusal(path: Path, message: str, hint: str) -> ProjectFileError:
    return ProjectFileError([Problem(str(path), message, hint)])
