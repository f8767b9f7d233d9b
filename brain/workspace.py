"""Where a project keeps its conversation: finding the workspace, and making its folder."""

import errno
import os
import sys
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from kds.brain.errors import WorkspaceError
from kds.brain.private_file import may_write

BRAIN: Final = "kds-brain"

IGNORED: Final = """\
# Conversations, caches and tokens of one person: no version control. What a team may share is let
# through. Written by KDS once; it is yours to change.
/*
!/.gitignore
!/README.md
!/rules/
!/english/
!/settings.yaml
"""
"""Git's rules for a new workspace folder: `git add -A` must not take a conversation along."""
HOME_VARIABLE: Final = "KDS_HOME"
_NESTED: Final = "KDS"

OWN_SETTINGS: Final = "KDS_CONFIG"
"""Environment variable that names the user's own settings file."""


@dataclass(frozen=True, slots=True)
class Workspace:
    """A project folder and the ``kds-brain`` folder in it, which may not exist yet."""

    root: Path
    """The folder that holds ``kds-brain/`` and, when there is an overlay, ``prompts/``."""
    brain: Path
    """``root / "kds-brain"``: the runtime data."""

    @property
    def context_path(self) -> Path:
        """The conversation context (DESIGN 3)."""
        return self.brain / "conversation-context.jsonl"

    @property
    def rules_dir(self) -> Path:
        """Rule files that overlay the packaged ones by name."""
        return self.brain / "rules"

    @property
    def english_dir(self) -> Path:
        """Words that join or leave the packaged word lists."""
        return self.brain / "english"

    @property
    def prompts_dir(self) -> Path:
        """Prompt files that overlay the packaged ones by name."""
        return self.root / "prompts"

    @property
    def cache_dir(self) -> Path:
        """What can be made again at any time: fitted models."""
        return self.brain / "cache"

    @property
    def settings_path(self) -> Path:
        """What the user set for this workspace."""
        return self.brain / "settings.yaml"

    @property
    def conversations_dir(self) -> Path:
        """Contexts of conversations that a client keeps apart, a file each."""
        return self.brain / "conversations"

    @classmethod
    def find(
        cls, start: Path | None = None, *, environ: Mapping[str, str] = os.environ
    ) -> "Workspace":
        """Find the workspace of ``start`` (default: the current folder); makes nothing.

        The first that applies (DESIGN 1): ``$KDS_HOME``, which names the folder that holds
        ``kds-brain/`` or that folder itself; the nearest of ``start`` and its parents with
        ``kds-brain/`` or ``KDS/kds-brain/``; ``start``. A ``kds-brain/`` that belongs neither to
        this user nor to the owner of ``start`` is passed over: whoever may write to a folder
        above, such as /tmp, must not read along.

        Raises WorkspaceError when the current folder no longer exists.
        """
        if home := environ.get(HOME_VARIABLE, "").strip():
            return _named(Path(home))
        origin = _origin(start)
        for folder in (origin, *origin.parents):
            for root in (folder, folder / _NESTED):
                if _is_folder(root / BRAIN) and _is_owned(root / BRAIN, origin):
                    return cls(root, root / BRAIN)
        return cls(origin, origin / BRAIN)

    def ensure(self) -> None:
        """Make ``brain`` with mode 0700 unless it is there, and see that it can be written to.

        A new folder, and one that is still empty, gets a ``.gitignore``. One that is there
        already keeps its mode: it may be shared on purpose, and every file in it is 0600.

        Raises WorkspaceError when it is no folder, a link, read-only, or may not be made.
        """
        try:
            self.brain.mkdir(mode=0o700)
            self.brain.chmod(0o700)  # whatever the umask took away
        except FileExistsError:
            self._check()
            if next(self.brain.iterdir(), None) is not None:
                return
        except OSError as error:
            raise self._failure(error) from error
        with suppress(OSError):  # a disk that is full says so when there is something to store
            (self.brain / ".gitignore").touch(mode=0o600)
            (self.brain / ".gitignore").write_text(IGNORED)

    def remove_if_bare(self) -> None:
        """Remove ``brain`` when it holds nothing but the ``.gitignore`` that `ensure` wrote."""
        ignore = self.brain / ".gitignore"
        with suppress(OSError):  # what cannot be removed stays, as it would without this
            bare = not self.brain.is_symlink() and list(self.brain.iterdir()) == [ignore]
            if bare and ignore.read_bytes() == IGNORED.encode():
                ignore.unlink()
                self.brain.rmdir()

    def check(self) -> None:
        """See that `ensure` can do its work, and make nothing: it takes no time.

        Raises WorkspaceError when it is no folder, a link, read-only, or may not be made.
        """
        if self.brain.exists():
            self._check()
        elif self.root.is_dir() and not may_write(self.root):
            raise self._failure(PermissionError(errno.EACCES, os.strerror(errno.EACCES)))

    def _check(self) -> None:
        if not _is_folder(self.brain):
            raise WorkspaceError(
                "the workspace is not a folder",
                where=str(self.brain),
                hint=f"rename that file, or set {HOME_VARIABLE} to another folder",
            )
        if self.brain.is_symlink():  # a project may have brought it along
            raise WorkspaceError(
                "the workspace is a link, which may lead out of the project",
                where=str(self.brain),
                hint=f"replace it by a folder, or set {HOME_VARIABLE} to the folder it leads to",
            )
        if not may_write(self.brain):
            raise WorkspaceError(
                "the workspace may not be written to",
                where=str(self.brain),
                hint=f"run `chmod u+rwx` on it, or set {HOME_VARIABLE} to a folder of yours",
            )

    def _failure(self, error: OSError) -> WorkspaceError:
        if error.errno in (errno.ENOENT, errno.ENOTDIR):
            message, hint = "the folder of the workspace does not exist", f"make {self.root}"
        elif error.errno == errno.EROFS:
            message, hint = "the workspace is on a read-only file system", "use a writable place"
        elif error.errno in (errno.EACCES, errno.EPERM):
            message, hint = "no permission to make the workspace", f"make {self.root} writable"
        else:
            message, hint = f"cannot make the workspace: {error.strerror}", "see the reason above"
        return WorkspaceError(
            message, where=str(self.brain), hint=f"{hint}, or set {HOME_VARIABLE} to another folder"
        )


def _named(home: Path) -> Workspace:
    home = home.expanduser().absolute()
    if home.name == BRAIN:
        return Workspace(home.parent, home)
    if not _is_folder(home / BRAIN) and _is_folder(home / _NESTED / BRAIN):
        home = home / _NESTED
    return Workspace(home, home / BRAIN)


def _origin(start: Path | None) -> Path:
    try:
        origin = (Path.cwd() if start is None else start).resolve()
    except (OSError, RuntimeError) as error:  # RuntimeError: a loop of links
        raise WorkspaceError(
            f"cannot tell where to look for the workspace: {error}",
            hint=f"change into a folder that exists, or set {HOME_VARIABLE}",
        ) from error
    return origin.parent if _is_file(origin) else origin


def _is_folder(path: Path) -> bool:
    try:
        return path.is_dir()
    except OSError:  # a parent that may not be searched: not ours
        return False


def _is_owned(brain: Path, origin: Path) -> bool:
    """Whether ``brain`` is this user's, or of the one whose folder this user works in."""
    if not hasattr(os, "geteuid"):
        return True
    owner = brain.stat().st_uid
    try:
        return owner == os.geteuid() or owner == origin.stat().st_uid
    except OSError:  # ``origin`` need not exist
        return False


def _is_file(path: Path) -> bool:
    try:
        return path.is_file()
    except OSError:
        return False


def own_settings_path(environ: Mapping[str, str] = os.environ) -> Path:
    """Return where the user's own settings are, which hold in every workspace.

    ``$KDS_CONFIG``, else ``kds/settings.yaml`` in the folder that the system keeps for settings:
    ``%APPDATA%`` on Windows, else ``$XDG_CONFIG_HOME`` or ``~/.config`` (XDG base directories).
    """
    if named := environ.get(OWN_SETTINGS, "").strip():
        return Path(named).expanduser()
    return own_folder(environ) / "settings.yaml"


def own_folder(environ: Mapping[str, str] = os.environ) -> Path:
    """Return the user's own folder of KDS: no project, and no variable of KDS, says where it is."""
    variable = "APPDATA" if sys.platform == "win32" else "XDG_CONFIG_HOME"
    folder = environ.get(variable, "").strip()
    base = Path(folder) if Path(folder).is_absolute() else Path("~/.config").expanduser()
    return base / "kds"
