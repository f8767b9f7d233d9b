"""Files that only their owner may read, shared by several processes.

Written beside and renamed, so that a reader sees the old file or the new one and a crash at
any moment leaves one of the two. Every failure is a StoreError with a hint.
"""

import errno
import os
import stat
import sys
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path, PurePath
from typing import IO, Final

from kds.brain.errors import StoreError

PRIVATE: Final = 0o600

POLL_S: Final = 0.005
"""How often a waiting process tries the lock: one write holds it for 1-3 ms on a local disk."""

SIZE_LIMIT: Final = 64 * 2**20
"""Bytes. Ten messages of 100 kB are 1 MB; KDS writes no larger file."""

_FULL: Final = "free some disk space; nothing that was stored is lost"
_FORBIDDEN: Final = "give yourself permission, or set KDS_HOME to a folder of yours"
_HINTS: Final = {
    errno.ENOSPC: _FULL,
    errno.EDQUOT: _FULL,
    errno.EFBIG: "raise the file size limit; nothing that was stored is lost",
    errno.EROFS: "the file system is read-only: set KDS_HOME to a writable place",
    errno.EACCES: _FORBIDDEN,
    errno.EPERM: _FORBIDDEN,
    errno.ELOOP: "replace the symbolic link by an ordinary file",
    errno.EISDIR: "rename that folder: a file has to stand in its place",
    errno.ENOENT: "the folder went away: make it again",
    errno.ENOTDIR: "a file stands where the folder should be: rename it",
}

_GUARDS: Final = getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_CLOEXEC", 0)
_NO_WAIT: Final = _GUARDS | getattr(os, "O_NONBLOCK", 0)
"""Opening a named pipe must not wait for its other end."""


def make_private_folder(path: Path) -> None:
    """Make the folder ``path`` with mode 0700 unless it is there. Its parent must exist.

    Raises StoreError for a link: a project may have brought along one that leads elsewhere.
    """
    try:
        path.mkdir(mode=0o700)
        path.chmod(0o700)
    except FileExistsError as error:
        if path.is_symlink():
            raise StoreError(
                "the folder is a link, which may lead out of the project",
                where=str(path),
                hint="replace the link by a folder, or set KDS_HOME to the workspace it leads to",
            ) from error
    except OSError as error:
        raise failure("make", path, error) from error


def may_write(path: Path) -> bool:
    """Tell whether this process may write to a file, or make files in a folder."""
    mode = os.R_OK | os.W_OK | (os.X_OK if path.is_dir() else 0)
    return os.access(path, mode, effective_ids=os.access in os.supports_effective_ids)


def failure(action: str, path: Path, error: OSError) -> StoreError:
    """Say what could not be done to ``path``, and what to do about it."""
    reason = error.strerror or str(error)
    hint = _HINTS.get(error.errno or 0, "see the reason above")
    return StoreError(f"cannot {action} it: {reason}", where=str(path), hint=hint)


@contextmanager
def _opened(path: Path, flags: int, mode: str) -> Iterator[IO[bytes]]:
    """Open a regular file, made with mode 0600 when it is to be written. Raises OSError."""
    descriptor = os.open(path, flags | _NO_WAIT, PRIVATE)
    try:
        status = os.fstat(descriptor)
        if status.st_size > SIZE_LIMIT or not stat.S_ISREG(status.st_mode):
            large = f"the file is larger than {SIZE_LIMIT // 2**20} MB"
            message = large if stat.S_ISREG(status.st_mode) else "it is not an ordinary file"
            hint = "move it away: KDS makes a new one"
            raise StoreError(message, where=str(path), hint=hint)
        if mode != "rb" and sys.platform != "win32":
            os.fchmod(descriptor, PRIVATE)  # whatever the umask took away, or somebody added
        with os.fdopen(descriptor, mode, closefd=False) as file:
            yield file
    finally:
        os.close(descriptor)


def _write(file: IO[bytes], content: bytes) -> None:
    file.write(content)
    file.flush()
    os.fsync(file.fileno())


def _sync_folder(folder: Path) -> None:
    if sys.platform == "win32":  # folders cannot be opened there; the rename is journaled
        return
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(descriptor)
    except OSError as error:
        if error.errno not in (errno.EINVAL, errno.ENOTSUP):  # some network file systems
            raise
    finally:
        os.close(descriptor)


ASIDE: Final = ".bad"
"""Ends the name of what was set aside of a text."""


class LockedText(ABC):
    """One text. Every method raises StoreError when it cannot be used; `str` says where it is."""

    __slots__ = ()

    @property
    def name(self) -> str:
        """What it is called where it stands."""
        return PurePath(str(self)).name

    @property
    @abstractmethod
    def aside(self) -> "LockedText":
        """Where what cannot be read of it goes."""

    @property
    def exists(self) -> bool:
        """Whether something may be there: on a server that is not known unasked."""
        return True

    @abstractmethod
    def read(self) -> bytes | None:
        """Return it, None when there is none."""

    @abstractmethod
    def locked(self, *, timeout_s: float) -> AbstractContextManager["LockedText"]:
        """Hold it for changing: no other process changes it meanwhile.

        On a server all changes hold or none; in a file each holds at once.
        """

    def prepare(self) -> None:  # noqa: B027  # on a server there is nothing to make
        """Make what it needs to stand in, unless it is there."""

    @abstractmethod
    def replace(self, content: bytes) -> None:
        """Put ``content`` in its place. Hold its lock."""

    @abstractmethod
    def append(self, content: bytes) -> None:
        """Add ``content`` to its end. Hold its lock."""

    @abstractmethod
    def remove(self) -> None:
        """Remove it, if it is there. Hold its lock."""


@dataclass(frozen=True, slots=True)
class PrivateFile(LockedText):
    """A file that only its owner may read.

    Links are not followed: somebody else's file must not be read as ours, nor replaced.
    """

    path: Path
    ensure: Callable[[], object] = bool
    """Makes what its folder stands in, and raises an error when nothing may be kept there."""

    def __str__(self) -> str:
        return str(self.path)

    @property
    def aside(self) -> "PrivateFile":
        """The file beside it."""
        return PrivateFile(self.path.with_name(f"{self.path.name}{ASIDE}"), self.ensure)

    @property
    def exists(self) -> bool:
        """Whether the file is there."""
        return self.path.exists()

    def read(self) -> bytes | None:
        """Return the content of a regular file, None when there is none."""
        try:
            with _opened(self.path, os.O_RDONLY, "rb") as file:
                return file.read()
        except FileNotFoundError:
            return None
        except OSError as error:
            raise failure("read", self.path, error) from error

    @contextmanager
    def locked(self, *, timeout_s: float) -> Iterator["PrivateFile"]:
        """Hold its lock (the file with ".lock" behind its name) against other processes.

        Raises StoreError when it is not free within ``timeout_s`` seconds. The system lets go of
        the lock when the process ends, however it ends.
        """
        from filelock import FileLock, Timeout  # 50 ms of imports: only who writes pays

        beside = self.path.with_name(f"{self.path.name}.lock")
        lock = FileLock(beside, timeout=timeout_s, mode=PRIVATE, poll_interval=POLL_S)
        try:
            lock.acquire()
        except Timeout as error:
            raise StoreError(
                f"another process has held the lock for {timeout_s:g} s",
                where=str(self.path),
                hint="try again; if it stays so, end the process that holds the lock file",
            ) from error
        except OSError as error:
            raise failure("lock", self.path, error) from error
        try:
            yield self
        finally:
            lock.release()

    def prepare(self) -> None:
        """Make the folder of the file."""
        self.ensure()
        make_private_folder(self.path.parent)

    def replace(self, content: bytes) -> None:
        """Put ``content`` in its place at once, with mode 0600, and make it durable.

        What a killed process left beside is swept away first.
        """
        path = self.path
        for stale in path.parent.glob(f".{path.name}.*.tmp"):
            with suppress(OSError):  # the new name is another one
                stale.unlink()
        beside = path.with_name(f".{path.name}.{os.urandom(6).hex()}.tmp")
        try:
            with _opened(beside, os.O_WRONLY | os.O_CREAT | os.O_EXCL, "wb") as file:
                _write(file, content)
            beside.replace(path)
            _sync_folder(path.parent)
        except OSError as error:
            with suppress(OSError):
                beside.unlink()
            raise failure("write", path, error) from error

    def append(self, content: bytes) -> None:
        """Add ``content`` to its end, made with mode 0600, and make it durable."""
        try:
            with _opened(self.path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, "ab") as file:
                _write(file, content)
        except OSError as error:
            raise failure("write", self.path, error) from error

    def remove(self) -> None:
        """Remove the file when it is there."""
        try:
            self.path.unlink(missing_ok=True)
        except OSError as error:
            raise failure("remove", self.path, error) from error
