"""What a store of documents can do, whatever keeps it.

`document_store.DocumentStore` keeps them in a workspace's file,
`kds.brain.postgres.postgres_documents.PostgresDocuments` on a server;
tests/brain/document_conformance.py holds both against this. Every method raises StoreError.
"""

from collections.abc import Mapping, Sequence
from typing import Protocol, Self

from kds.brain.database.engine import Engine
from kds.brain.database.health import Check
from kds.brain.documents.content import Content, Source
from kds.brain.documents.document_recall import DocumentSearch
from kds.brain.documents.document_values import ALL, Document, DocumentRecall, Holdings, Section
from kds.brain.documents.ranking import DOCUMENT_BIAS, LIMIT
from kds.brain.passages.store import Embedder


class Documents(DocumentSearch, Protocol):
    """The documents of a workspace."""

    @property
    def database(self) -> Engine:
        """What runs its SQL."""
        ...

    @property
    def warnings(self) -> tuple[str, ...]:
        """What was found and put right since the store was opened."""
        ...

    def put(self, content: Content, source: Source) -> Document:
        """Store a document, in the place of what its file said before: at once or not at all.

        The bytes of what it replaces go with the next `tidy` or `remove`.
        """
        ...

    def touch(self, document: Document, source: Source) -> None:
        """Note that the file of a document has another date but says the same."""
        ...

    def remove(self, names: Sequence[str]) -> tuple[Document, ...]:
        """Remove documents and their bytes; returns them.

        Names must be whole: an id, path, file name or title. Raises StoreError for any other,
        and removes nothing then.
        """
        ...

    def tidy(self) -> None:
        """Remove the bytes of what was replaced, if anything was."""
        ...

    def documents(self) -> tuple[Document, ...]:
        """Return all documents, by path."""
        ...

    def current_paths(self) -> Mapping[str, bool]:
        """Return the paths of all documents, and whether they need not be read again for KDS."""
        ...

    def document(self, name: str) -> Document:
        """Return the document that an id, path, file name or title names.

        Raises StoreError when there is none, or when there are several.
        """
        ...

    def find(self, name: str) -> Document | None:
        """Return the document that ``name`` names, None when there is none."""
        ...

    def sections(self, name: str) -> tuple[Section, ...]:
        """Return the sections of a document in order."""
        ...

    def search(
        self,
        query: str,
        *,
        limit: int = LIMIT,
        document: str | None = None,
        scope: str = ALL,
        embedder: Embedder | None = None,
        bias: float = DOCUMENT_BIAS,
    ) -> DocumentRecall:
        """Find the passages that ``query`` is about, best first.

        ``document`` names the one the conversation is about: its passages count ``bias`` times as
        much, and no others are hidden; a name that the store does not know is a note. ``scope``
        is "all", or names the only document to look at: one that is not there is a StoreError.
        """
        ...

    def holdings(self) -> Holdings:
        """Return how much is stored."""
        ...

    def check(self) -> Check:
        """Examine the whole store; changes nothing."""
        ...

    def rebuild(self) -> Check:
        """Make the search index anew, queue what has no vector, and examine everything."""
        ...

    def close(self) -> None:
        """Let go of the store; further calls are refused. Closing twice is fine."""
        ...

    def __enter__(self) -> Self: ...

    def __exit__(self, *_: object) -> None: ...
