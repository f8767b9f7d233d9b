"""The documents of a workspace, whatever engine runs the SQL of their store.

`document_store.DocumentStore` keeps them in a workspace's file,
`kds.brain.documents.postgres_documents.PostgresDocuments` on a server;
tests/brain/document_conformance.py holds both against the same tests. Every method raises
StoreError.
"""

from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import replace

from kds.brain.documents.document_recall import DOCUMENT_BIAS, LIMIT, Request, recall
from kds.brain.documents.document_table import DocumentTable
from kds.brain.documents.document_values import ALL, Document, DocumentRecall, Holdings, Section
from kds.brain.documents.naming import find, find_whole, unknown_document
from kds.brain.passages.store import Embedder
from kds.brain.store.deletion import wipe
from kds.brain.store.health import healing


class Documents(DocumentTable):
    """The documents of a workspace, by their names."""

    def remove(self, names: Sequence[str]) -> tuple[Document, ...]:
        """Remove documents and their bytes; returns them.

        Names must be whole: an id, path, file name or title. Raises StoreError for any other,
        and removes nothing then.
        """
        documents, place = self.documents(), self.database.place
        chosen = [find_whole(documents, name, where=place) for name in names]
        found = {one.id: one for one in chosen}
        self.take_out(tuple(found))
        return tuple(found.values())

    def tidy(self) -> None:
        """Remove the bytes of what was replaced, if anything was."""
        wipe(self.database)

    def document(self, name: str) -> Document:
        """Return the document that an id, path, file name or title names.

        Raises StoreError when there is none, or when there are several.
        """
        found = self.find(name)
        if found is None:
            raise unknown_document(name, self.database.place)
        return found

    def find(self, name: str) -> Document | None:
        """Return the document that ``name`` names, None when there is none."""
        return find(self.documents(), name, where=self.database.place)

    def sections(self, name: str) -> tuple[Section, ...]:
        """Return the sections of a document in order."""
        return self.sections_of(self.document(name).id)

    @healing
    def search(
        self,
        query: str,
        *,
        limit: int = LIMIT,
        document: str | Sequence[str] | None = None,
        scope: str = ALL,
        embedder: Embedder | None = None,
        bias: float = DOCUMENT_BIAS,
    ) -> DocumentRecall:
        """Find the passages that ``query`` is about, best first.

        ``document`` names the one the conversation is about, or several: their passages count
        ``bias`` times as much, and no others are hidden; a name that the store does not know is a
        note. ``scope`` is "all", or names the only document to look at: one that is not there is a
        StoreError.
        """
        documents = self.documents()
        names = [document] if isinstance(document, str) else document or ()
        about = {one: find(documents, one, where=self.database.place) for one in names if one}
        within = None if scope == ALL else self.document(scope)
        request = Request(
            query=query,
            limit=limit,
            preferred=frozenset(one.id for one in about.values() if one is not None),
            within=within,
            bias=bias,
            titles={one.title: one.id for one in documents},
        )
        found = recall(self, request, embedder=embedder)
        notes = (
            f"the store has no document '{name}' to prefer"
            for name, one in about.items()
            if one is None
        )
        return replace(found, notes=(*found.notes, *notes))

    @abstractmethod
    def holdings(self) -> Holdings:
        """Return how much is stored."""
