"""Where a workspace keeps its passages: in a file of its own, or on the server the user named."""

import os
from abc import ABC, abstractmethod
from collections.abc import Mapping
from contextlib import nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import Generic, Self, TypeVar

from kds.brain.clock import Clock, utc_now
from kds.brain.git import keep_private
from kds.brain.passages.store import PassageStore
from kds.brain.words.tokens import TokenCounter, estimate_tokens
from kds.brain.workspace import SharedDatabase, Workspace, shared_database

S = TypeVar("S", bound=PassageStore)


@dataclass(frozen=True, slots=True)
class Place(ABC, Generic[S]):
    """A store of a workspace, wherever that is. Looking makes nothing."""

    workspace: Workspace
    shared: SharedDatabase | None = None
    """None: in the workspace's file."""

    @classmethod
    def of(cls, workspace: Workspace, *, environ: Mapping[str, str] = os.environ) -> Self:
        """Find the store of a workspace. Raises SettingsError when a server may be set wrong."""
        return cls(workspace, shared_database(workspace, environ=environ))

    @property
    @abstractmethod
    def path(self) -> Path:
        """The file, whether it is used or not."""

    @property
    def exists(self) -> bool:
        """Whether something may be there: on a server that is not known unasked."""
        return self.shared is not None or self.path.exists()

    def __str__(self) -> str:
        """The file, or the server without user and password."""
        return str(self.shared or self.path)

    def if_any(self) -> S | nullcontext[None]:
        """Open the store for as long as the block runs; None when nothing was ever stored."""
        return self.open() if self.exists else nullcontext()

    def open(self, *, clock: Clock = utc_now, count_tokens: TokenCounter = estimate_tokens) -> S:
        """Open the store, made if there is none; whoever does closes it.

        Raises WorkspaceError, and StoreError when the file or server cannot be used.
        """
        if self.shared is not None:
            return self._on_server(self.shared, clock, count_tokens)
        if not self.path.exists():
            self.prepare()
        return self._in_file(clock, count_tokens)

    def prepare(self) -> None:
        """Make the folder of the file, and see that git would not commit what is to be stored.

        Raises WorkspaceError, such as ExposedError.
        """
        if self.shared is None:
            keep_private(self.workspace, self._private())

    @abstractmethod
    def _private(self) -> tuple[str, ...]:
        """What in `kds-brain` no commit may hold."""

    @abstractmethod
    def _on_server(self, shared: SharedDatabase, clock: Clock, count: TokenCounter) -> S:
        """Open the store of a tenant."""

    @abstractmethod
    def _in_file(self, clock: Clock, count: TokenCounter) -> S:
        """Open the file, made if there is none."""
