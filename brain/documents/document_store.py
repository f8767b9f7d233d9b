"""The documents of a workspace in one SQLite file, beside the conversation memory."""

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from kds.brain.database.database import Database
from kds.brain.database.database_file import all_files, size_of
from kds.brain.database.deletion import scrub
from kds.brain.database.health import healing
from kds.brain.database.migrations import version_of
from kds.brain.documents.document_recall import DocumentSearch, recall
from kds.brain.documents.document_schema import DOCUMENTS
from kds.brain.documents.document_table import DocumentTable
from kds.brain.documents.document_values import ALL, Document, DocumentRecall, Holdings, Section
from kds.brain.documents.naming import find, find_whole, unknown_document
from kds.brain.documents.ranking import DOCUMENT_BIAS, LIMIT, Request
from kds.brain.passages.passage_file import PassageFile
from kds.brain.passages.store import Embedder


class DocumentStore(DocumentTable, PassageFile):
    """The documents of one workspace."""

    database: Database
    kind = DOCUMENTS
    file_name = "documents.db"
    holders = "document"

    def remove(self, names: Sequence[str]) -> tuple[Document, ...]:
        """Remove documents and their bytes; returns them.

        Names must be whole: an id, path, file name or title. Raises StoreError for any other,
        and removes nothing then.
        """
        documents = self.documents()
        found = {
            one.id: one for one in (find_whole(documents, name, where=self.path) for name in names)
        }
        self.take_out(tuple(found))
        return tuple(found.values())

    def tidy(self) -> None:
        """Remove the bytes of what was replaced, if anything was."""
        scrub(self.database)

    def document(self, name: str) -> Document:
        """Return the document that an id, path, file name or title names.

        Raises StoreError when there is none, or when there are several.
        """
        found = self.find(name)
        if found is None:
            raise unknown_document(name, self.path)
        return found

    def find(self, name: str) -> Document | None:
        """Return the document that ``name`` names, None when there is none."""
        return find(self.documents(), name, where=self.path)

    def sections(self, name: str) -> tuple[Section, ...]:
        """Return the sections of a document in order."""
        return self.sections_of(self.document(name).id)

    @healing
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
        documents = self.documents()
        about = find(documents, document, where=self.path) if document else None
        within = None if scope == ALL else self.document(scope)
        request = Request(
            query=query,
            limit=limit,
            document=about,
            within=within,
            bias=bias,
            titles={one.title: one.id for one in documents},
        )
        found = recall(self, request, embedder=embedder)
        if document and about is None:
            note = f"no document '{document}' is in the store: none is preferred"
            found = replace(found, notes=(*found.notes, note))
        return found

    def holdings(self) -> Holdings:
        """Return how much is stored."""
        with self.database.read() as connection:
            documents, sections, chunks, tokens = connection.execute(
                "SELECT count(*), coalesce(sum(section_count), 0), coalesce(sum(chunk_count), 0), "
                "coalesce(sum(token_count), 0) FROM document"
            ).fetchone()
            version = version_of(connection)
        size = sum(map(size_of, all_files(self.path)))
        return Holdings(documents, sections, chunks, tokens, size, version)


if TYPE_CHECKING:
    # What the protocol asks for is here, with the types it asks for.
    _checked: type[DocumentSearch] = DocumentStore
