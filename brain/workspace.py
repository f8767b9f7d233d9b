"""Where a project keeps its conversation: its workspace folder, or a shared database."""

import errno
import getpass
import os
import re
from collections.abc import Mapping
from contextlib import AbstractContextManager, nullcontext, suppress
from dataclasses import dataclass
from datetime import datetime
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Final

from kds.brain.clock import Clock, utc_now
from kds.brain.environment import DATABASE, HOME_VARIABLE, locate, own_settings
from kds.brain.errors import WorkspaceError
from kds.brain.files import LockedText, PrivateFile, may_write

if TYPE_CHECKING:
    from kds.brain.settings import Settings
    from kds.brain.store.postgres import Server

Environ = Mapping[str, str]

LEARNED: Final = "learned.yaml"
"""What was taught, in the `kds-brain` folder of a workspace or among the texts of a tenant."""

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


@dataclass(frozen=True, slots=True)
class Workspace:
    """A project folder and the ``kds-brain`` folder in it, which may not exist yet."""

    root: Path
    """The folder that holds ``kds-brain/`` and, when there is an overlay, ``prompts/``."""
    brain: Path
    """``root / "kds-brain"``: the runtime data."""

    @property
    def context_path(self) -> Path:
        """The conversation context."""
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
        """Find the workspace of ``start`` (default: the current folder), as `locate` does.

        Makes nothing. Raises WorkspaceError when the current folder no longer exists, or the home
        that is named.
        """
        try:
            root, brain = locate(str(start or "."), environ)
        except OSError as error:
            raise WorkspaceError(
                f"cannot tell where the workspace is: {error.strerror or error}",
                where=error.filename,
                hint=f"change into a folder that exists, or set {HOME_VARIABLE}",
            ) from error
        return cls(Path(root), Path(brain))

    @classmethod
    def at(cls, place: "Workspace | Path | str | None" = None) -> "Workspace":
        """The workspace of a folder, or (None) the one found from here upwards.

        Raises WorkspaceError.
        """
        if isinstance(place, Workspace):
            return place
        if place is None:
            return cls.find()
        if not Path(place).is_dir():
            hint = "make it, or check the path"
            raise WorkspaceError("no such folder", where=str(place), hint=hint)
        return cls.find(environ={HOME_VARIABLE: str(place)})

    def ensure(self) -> None:
        """Make ``brain`` with mode 0700 unless it is there, and see that it can be written to.

        A new folder, and one that is still empty, gets a ``.gitignore``. One that is there
        already keeps its mode: it may be shared on purpose, and every file in it is 0600.

        Raises WorkspaceError when it is not a folder, a link, read-only, or may not be made.
        """
        try:
            self.brain.mkdir(mode=0o700)
            self.brain.chmod(0o700)  # whatever the umask took away
        except FileExistsError:
            self.check()
            if next(self.brain.iterdir(), None) is not None:
                return
        except OSError as error:
            raise self._failure(error) from error
        with suppress(OSError):  # a full disk is reported when there is something to store
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

        Raises WorkspaceError when it is not a folder, a link, read-only, or may not be made.
        """
        brain = self.brain
        if brain.is_symlink():  # a project may have brought it along
            message = "the workspace is a link, which may lead out of the project"
            raise self._error(message, "replace it by a folder")
        if not brain.exists():
            if self.root.is_dir() and not may_write(self.root):
                raise self._failure(PermissionError(errno.EACCES, os.strerror(errno.EACCES)))
        elif not brain.is_dir():
            raise self._error("the workspace is not a folder", "rename that file")
        elif not may_write(brain):
            raise self._error("the workspace may not be written to", "run `chmod u+rwx` on it")

    def _failure(self, error: OSError) -> WorkspaceError:
        if error.errno in (errno.ENOENT, errno.ENOTDIR):
            return self._error("the folder of the workspace does not exist", f"make {self.root}")
        message = f"cannot make the workspace: {error.strerror}"
        return self._error(message, f"make {self.root} writable")

    def _error(self, message: str, hint: str) -> WorkspaceError:
        hint = f"{hint}, or set {HOME_VARIABLE} to another folder"
        return WorkspaceError(message, where=str(self.brain), hint=hint)


def own_settings_path(environ: Mapping[str, str] = os.environ) -> Path:
    """Return where the user's own settings are, which hold in every workspace."""
    return Path(own_settings(environ))


@dataclass(frozen=True, slots=True)
class SharedDatabase:
    """A server, and whose rows on it belong to a workspace."""

    url: str
    tenant: tuple[str, str, str]
    """Organisation, person and project."""

    def __str__(self) -> str:
        """The server without user and password."""
        from kds.brain.store.postgres import place_of

        return place_of(self.url)

    @classmethod
    def of(cls, settings: "Settings", project: "Workspace | str") -> "SharedDatabase | None":
        """The server that settings name, if any, and what their person has there of a project."""
        database = settings.database
        if database.url is None:
            return None
        if isinstance(project, Workspace):
            project = database.project or project.root.name or "project"
        names = (database.organisation, database.person or _user(), project)
        return cls(database.url.get_secret_value(), names)

    def server(self) -> "Server":
        """Return a pool of connections; the caller closes it. Raises StoreError."""
        from kds.brain.store.postgres import Server

        return Server.shared(self.url)


def shared_database(
    workspace: Workspace, *, environ: Environ = os.environ
) -> SharedDatabase | None:
    """Return the server of a workspace, None when there is none: the usual case, told at once.

    A project's file may not name one, and is not read. Raises SettingsError when what may name one
    is wrong.
    """
    if not environ.get(DATABASE, "").strip() and not _may_name_one(environ):
        return None
    from kds.brain.settings import load_layers  # 0.1 s of imports

    layers = load_layers(workspace, environ=environ, texts={workspace.settings_path: ""})
    return SharedDatabase.of(layers.settings(), workspace)


def _may_name_one(environ: Environ) -> bool:
    """Whether the user's own settings have the word at all: no parser is needed to see that."""
    try:
        return b"database" in own_settings_path(environ).read_bytes()
    except FileNotFoundError:
        return False
    except OSError:  # told of where the settings are read
        return True


def _user() -> str:
    with suppress(OSError, KeyError, ImportError):  # a user without a name, as in a container
        return getpass.getuser()
    return "user"


def stamp_of(path: Path) -> object:
    """What tells one state of a file from another; None where there is none."""
    try:
        status = path.stat()
    except OSError:
        return None
    return status.st_mtime_ns, status.st_size, status.st_ino


class Texts:
    """The texts of a workspace by name: files in `kds-brain`."""

    def __init__(self, workspace: Workspace) -> None:
        self._workspace = workspace

    def __call__(self, name: str) -> LockedText:
        """Return a text."""
        return PrivateFile(self._workspace.brain / name, partial(_keep_private, self._workspace))

    def mark(self, name: str) -> object:
        """What tells one state of a text from another."""
        return stamp_of(self._workspace.brain / name)

    def remove_older(self, folder: str, than: datetime) -> None:
        """Remove the texts of a folder that were last written before, and what is beside them.

        Files of other names stay, and all behind a link.
        """
        place = self._workspace.brain / folder
        for path in () if place.is_symlink() else place.glob("*"):
            with suppress(OSError):  # another process was faster
                if _TEXT.fullmatch(path.name) and path.lstat().st_mtime < than.timestamp():
                    path.unlink()

    def hold(self) -> None:
        """Keep the server's connections open until `close`, if there is one."""

    def reading(self) -> AbstractContextManager[object]:
        """Have all that this thread reads of a server while the block runs be one transaction."""
        return nullcontext()

    def close(self) -> None:
        """Let go of the server. Closing twice is fine."""


_TEXT: Final = re.compile(r"[a-z0-9-]+\.jsonl?(?:\.bad)?(?:\.lock)?")


def open_texts(
    workspace: Workspace,
    *,
    environ: Mapping[str, str] = os.environ,
    clock: Clock = utc_now,
) -> Texts:
    """Return the texts of a workspace: in `kds-brain`, or on the server the user named.

    Raises SettingsError when the settings may name a server and are wrong.
    """
    shared = shared_database(workspace, environ=environ)
    if shared is None:
        return Texts(workspace)
    from kds.brain.store.tenancy import PostgresTexts  # without a server nothing of the driver

    return PostgresTexts(shared, workspace, clock=clock)


def _keep_private(workspace: Workspace) -> None:
    from kds.brain.git import keep_private  # `subprocess` is for what is kept

    keep_private(workspace)
