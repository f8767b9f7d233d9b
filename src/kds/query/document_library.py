"""The documents of a workspace, opened when there are any."""

import os
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from threading import Lock

from kds.brain.documents.store import DocumentPlace, Documents
from kds.brain.documents.values import ALL, DocumentRecall, Holdings
from kds.brain.errors import StoreError
from kds.brain.passages.store import Embedder
from kds.brain.workspace import Workspace


class Library:
    """Searches the document store of a workspace; looking makes no file."""

    def __init__(self, workspace: Workspace, *, environ: Mapping[str, str] = os.environ) -> None:
        self.workspace = workspace
        self.place = DocumentPlace.of(workspace, environ=environ)
        self._lock = Lock()
        self._store: Documents | None = None

    @property
    def store(self) -> Documents | None:
        """The store; None when no document was ever added. Raises StoreError."""
        with self._lock:
            if self._store is None and self.place.exists:
                self._store = self.place.open()
            return self._store

    def search(
        self,
        text: str,
        *,
        near: Sequence[str] = (),
        only: str | None = None,
        limit: int,
        embedder: Embedder | None = None,
    ) -> DocumentRecall | None:
        """Find passages; None when no document was ever added.

        Those of the documents ``near`` count more; with ``only`` no other is looked at. Each is a
        path (from the root of the workspace, too), a file's name, a title or an id. Raises
        StoreError, such as when there is no document ``only``.
        """
        store = self.store
        if store is None:
            return None
        found = store.search(
            text,
            limit=limit,
            document=[self._unambiguous(store, self._place(one)) or "" for one in near],
            scope=ALL if only is None else self._place(only),
            embedder=embedder,
        )
        return replace(found, notes=(*store.warnings, *found.notes))

    def holdings(self) -> Holdings | None:
        """How much there is; None when no document was ever added. Raises StoreError."""
        store = self.store
        return None if store is None else store.holdings()

    def note_on(self, name: str) -> str | None:
        """Say why the document ``name`` cannot be preferred; None when it can.

        What keeps the store from being read is such a reason, too.
        """
        try:
            store = self.store
            if store is not None and store.find(self._place(name)) is not None:
                return None
        except StoreError as error:
            return f"{error.message}: none is preferred"
        return f"no document '{name}' is in the store: none is preferred"

    def close(self) -> None:
        """Let go of the store; the next search opens it again."""
        with self._lock:
            if self._store is not None:
                self._store.close()
                self._store = None

    def _place(self, name: str) -> str:
        """A path from the root of the workspace as the store has it; any other name as it is."""
        # No name of a file at all, or links in a circle: Python 3.11 has a RuntimeError for them.
        with suppress(OSError, ValueError, RuntimeError):
            path = (self.workspace.root / name).resolve()
            if path.is_file():
                return str(path)
        return name

    def _unambiguous(self, store: Documents, name: str) -> str | None:
        """A name that several documents have prefers none of them."""
        try:
            found = store.find(name)
        except StoreError:
            return None
        return name if found is None else found.id
