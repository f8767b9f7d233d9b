"""Where a workspace's documents are, and opening them."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from kds.brain.documents.document_store import FILE_NAME, DocumentStore
from kds.brain.workspace import Workspace


def documents_path(workspace: Workspace) -> Path:
    """Where the document store of ``workspace`` is, or would be."""
    return workspace.brain / FILE_NAME


@contextmanager
def documents_if_any(workspace: Workspace) -> Iterator[DocumentStore | None]:
    """Open the store for as long as the block runs; None when no document was ever added.

    Looking makes no file. Raises StoreError when there is one that cannot be used.
    """
    path = documents_path(workspace)
    if not path.exists():
        yield None
        return
    with DocumentStore(path) as store:
        yield store


@contextmanager
def documents_made(workspace: Workspace) -> Iterator[DocumentStore]:
    """Open the store for as long as the block runs, and make it first if there is none.

    Raises WorkspaceError and StoreError.
    """
    workspace.ensure()
    with DocumentStore(documents_path(workspace)) as store:
        yield store
