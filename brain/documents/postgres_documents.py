"""The documents of one tenant on a server: `documents.Documents`, put together."""

from typing import Final

from kds.brain.documents.chunking import DraftPassage
from kds.brain.documents.store import CONTRADICTIONS, Documents
from kds.brain.documents.values import Holdings
from kds.brain.passages.postgres_passages import (
    PostgresPassages,
    indexed,
    steps_taken,
    stored_bytes,
)
from kds.brain.passages.schema import Row, range_of
from kds.brain.store.engine import Connection
from kds.brain.store.tenancy import Area, Tenancy

DOCUMENTS: Final = Area("kds_documents", 0x4B445344)
"""With a lock of its own: indexing a long document does not block chats."""

INDEX_NAMES: Final = ", words, size"


class PostgresDocuments(PostgresPassages, Documents):
    """The documents of one tenant."""

    database: Tenancy
    area = DOCUMENTS
    texts = "SELECT * FROM chunk_text"
    contradictions = CONTRADICTIONS
    index_names = INDEX_NAMES

    def index_columns(self, passage: DraftPassage) -> Row:
        """Return what the index has of a passage, as `texts` would say it."""
        columns = (passage.header, passage.body, passage.beside, passage.idents)
        return indexed(self._forms, columns, tenant=self.database.tenant)

    def count_words(self, connection: Connection, number: int) -> None:
        """Note how many words the index has of a new document."""
        connection.execute(
            "UPDATE document SET word_count = (SELECT coalesce(sum(size), 0) FROM chunk "
            "WHERE id BETWEEN ? AND ?) WHERE num = ?",
            (*range_of(number), number),
        )

    def holdings(self) -> Holdings:
        """Return how much of this tenant is stored."""
        with self.database.read() as connection:
            return Holdings(
                *self.counts(connection),
                stored_bytes(connection, ("document", "section", "chunk", "term", "embedding")),
                steps_taken(connection),
            )
