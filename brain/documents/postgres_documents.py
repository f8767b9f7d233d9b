"""The documents of one tenant on a server: `store.Documents`, put together."""

from typing import Final, Self

from kds.brain.documents.store import Documents
from kds.brain.documents.values import Document
from kds.brain.passages.postgres_passages import PostgresPassages
from kds.brain.store.team import of_everybody
from kds.brain.store.tenancy import Area, Tenancy, tenant_number
from kds.brain.workspace import SharedDatabase

DOCUMENTS: Final = Area("kds_documents", 0x4B445344)
"""With a lock of its own: indexing a long document does not block chats."""


class PostgresDocuments(PostgresPassages, Documents):
    """The documents of one tenant."""

    database: Tenancy
    area = DOCUMENTS
    tables = ("document", "section", "chunk", "term", "embedding")

    @classmethod
    def of_member(cls, shared: SharedDatabase) -> Self:
        """Open the documents of a person, beside which those of everybody in the project are seen.

        Raises StoreError.
        """
        server = shared.server()
        try:
            everybody = tenant_number(server, of_everybody(shared).tenant)
            return cls.of(shared, beside=everybody)
        finally:
            server.close()

    def added_by(self, document: Document) -> str | None:
        """Who added a document; None where that is not known."""
        with self.database.read() as connection:
            query = "SELECT added_by FROM document WHERE id = ?"
            row = connection.execute(query, (document.id,)).fetchone()
        return row[0] if row else None
