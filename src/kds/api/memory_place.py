"""Where a workspace's conversation memory is, and opening it."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from kds.brain.sessions.sqlite_store import FILE_NAME, SqliteStore
from kds.brain.workspace import Workspace


def memory_path(workspace: Workspace) -> Path:
    """Where the memory of ``workspace`` is, or would be."""
    return workspace.brain / FILE_NAME


@contextmanager
def memory_if_any(workspace: Workspace) -> Iterator[SqliteStore | None]:
    """Open the memory for as long as the block runs; None when nothing was ever remembered.

    Looking makes no file. Raises StoreError when there is one that cannot be used.
    """
    path = memory_path(workspace)
    if not path.exists():
        yield None
        return
    with SqliteStore(path) as store:
        yield store


@contextmanager
def memory_made(workspace: Workspace) -> Iterator[SqliteStore]:
    """Open the memory for as long as the block runs, and make it first if there is none.

    Raises WorkspaceError and StoreError.
    """
    workspace.ensure()
    with SqliteStore(memory_path(workspace)) as store:
        yield store
