"""Where a workspace's memory is: in its file, or on the server that the user named."""

import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass

from kds.brain.clock import Clock, utc_now
from kds.brain.sessions.memory_store import MemoryStore
from kds.brain.sessions.sqlite_store import SqliteStore
from kds.brain.shared_database import SharedDatabase, shared_database
from kds.brain.words.tokens import TokenCounter, estimate_tokens
from kds.brain.workspace import Workspace


@dataclass(frozen=True, slots=True)
class MemoryPlace:
    """The memory of a workspace, wherever that is. Looking makes nothing."""

    workspace: Workspace
    shared: SharedDatabase | None = None
    """None: in the workspace's file."""

    @classmethod
    def of(cls, workspace: Workspace, *, environ: Mapping[str, str] = os.environ) -> "MemoryPlace":
        """Find the memory of a workspace. Raises SettingsError when a server may be set wrong."""
        return cls(workspace, shared_database(workspace, environ=environ))

    @property
    def exists(self) -> bool:
        """Whether something may be remembered: on a server that is not known unasked."""
        return self.shared is not None or SqliteStore.path_in(self.workspace).exists()

    def __str__(self) -> str:
        """The file, or the server without user and password."""
        return str(self.shared or SqliteStore.path_in(self.workspace))

    @contextmanager
    def if_any(self) -> Iterator[MemoryStore | None]:
        """Open the memory for as long as the block runs; None when nothing was ever stored."""
        if not self.exists:
            yield None
            return
        with self.made() as store:
            yield store

    @contextmanager
    def made(self) -> Iterator[MemoryStore]:
        """Open the memory for as long as the block runs, made if there is none."""
        store = self.open()
        try:
            yield store
        finally:
            store.close()

    def open(
        self, *, clock: Clock = utc_now, count_tokens: TokenCounter = estimate_tokens
    ) -> MemoryStore:
        """Open the memory, made if there is none; whoever does closes it.

        Raises WorkspaceError, and StoreError when the file or server cannot be used.
        """
        if self.shared is not None:
            from kds.brain.postgres.postgres_store import PostgresStore

            return PostgresStore.of(self.shared, clock=clock, count_tokens=count_tokens)
        path = SqliteStore.path_in(self.workspace)
        if not path.exists():
            self.workspace.ensure()
        return SqliteStore(path, clock=clock, count_tokens=count_tokens)
