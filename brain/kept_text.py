"""A text that several processes share and change as a whole: a private file, or a row on a server.

Whoever changes it borrows it first. What was learned and the work in progress are such texts, so
that the same code, and the same words in them, serve a workspace of files and a tenant.
"""

import os
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path, PurePath
from typing import Final

from kds.brain.clock import Clock, utc_now
from kds.brain.private_file import (
    append_private,
    is_read_only,
    locked,
    make_private_folder,
    read_private,
    remove_private,
    replace_private,
)
from kds.brain.shared_database import shared_database
from kds.brain.workspace import Workspace

ASIDE: Final = ".bad"
"""Ends the name of what was set aside of a text."""


class KeptText(ABC):
    """One text. Every method raises StoreError when it cannot be used; `str` says where it is."""

    __slots__ = ()

    @property
    def name(self) -> str:
        """What it is called where it stands."""
        return PurePath(str(self)).name

    @property
    @abstractmethod
    def aside(self) -> "KeptText":
        """Where what cannot be read of it goes."""

    @property
    def exists(self) -> bool:
        """Whether something may be there: on a server that is not known unasked."""
        return True

    @property
    def has_place(self) -> bool:
        """Whether what it needs to stand in is there."""
        return True

    @property
    def read_only(self) -> bool:
        """Whether it is there and is not to be written."""
        return False

    @abstractmethod
    def read(self) -> bytes | None:
        """Return it, None when there is none."""

    @abstractmethod
    def borrowed(self, *, timeout_s: float) -> AbstractContextManager["KeptText"]:
        """Lend it for changing: nobody else changes it meanwhile, and all of it holds or nothing.

        On a server; of a file each change holds at once.
        """

    def prepare(self) -> None:  # noqa: B027  # on a server there is nothing to make
        """Make what it needs to stand in, unless it is there."""

    @abstractmethod
    def replace(self, content: bytes) -> None:
        """Put ``content`` in its place. Borrow it first."""

    @abstractmethod
    def append(self, content: bytes) -> None:
        """Add ``content`` to its end. Borrow it first."""

    @abstractmethod
    def remove(self) -> None:
        """Remove it, if it is there. Borrow it first."""


def _nothing() -> None:
    pass


@dataclass(frozen=True, slots=True)
class PrivateText(KeptText):
    """A text in a file that only its owner may read."""

    path: Path
    ensure: Callable[[], None] = _nothing
    """Makes what its folder stands in, and raises an error when nothing may be kept there."""

    def __str__(self) -> str:
        return str(self.path)

    @property
    def aside(self) -> "PrivateText":
        """The file beside it."""
        return PrivateText(self.path.with_name(f"{self.path.name}{ASIDE}"), self.ensure)

    @property
    def exists(self) -> bool:
        """Whether the file is there."""
        return self.path.exists()

    @property
    def has_place(self) -> bool:
        """Whether the folder is there."""
        return self.path.parent.exists()

    @property
    def read_only(self) -> bool:
        """Whether the file is not to be written."""
        return is_read_only(self.path)

    def read(self) -> bytes | None:
        """Return the content."""
        return read_private(self.path)

    @contextmanager
    def borrowed(self, *, timeout_s: float) -> Iterator["PrivateText"]:
        """Hold the lock of the file."""
        with locked(self.path, timeout_s=timeout_s):
            yield self

    def prepare(self) -> None:
        """Make the folder of the file."""
        self.ensure()
        make_private_folder(self.path.parent)

    def replace(self, content: bytes) -> None:
        """Write the file anew."""
        replace_private(self.path, content)

    def append(self, content: bytes) -> None:
        """Add to the file."""
        append_private(self.path, content)

    def remove(self) -> None:
        """Remove the file."""
        remove_private(self.path)


def kept_text(
    workspace: Workspace,
    name: str,
    *,
    environ: Mapping[str, str] = os.environ,
    clock: Clock = utc_now,
) -> KeptText:
    """Return the text ``name`` of a workspace: in `kds-brain`, or on the server the user named.

    Raises SettingsError when the settings may name a server and are wrong.
    """
    shared = shared_database(workspace, environ=environ)
    if shared is None:
        return PrivateText(workspace.brain / name, partial(_keep_private, workspace))
    from kds.brain.store.texts import PostgresText  # without a server nothing of the driver

    return PostgresText.of(shared, name, clock=clock)


def _keep_private(workspace: Workspace) -> None:
    from kds.brain.git import keep_private  # `subprocess` is for what is kept

    keep_private(workspace)
