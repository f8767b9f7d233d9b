"""The documents of one tenant on a server: `store.Documents`, put together."""

from typing import Final

from kds.brain.documents.store import CONTRADICTIONS, Documents
from kds.brain.passages.postgres_passages import PostgresPassages
from kds.brain.store.tenancy import Area, Tenancy

DOCUMENTS: Final = Area("kds_documents", 0x4B445344)
"""With a lock of its own: indexing a long document does not block chats."""


class PostgresDocuments(PostgresPassages, Documents):
    """The documents of one tenant."""

    database: Tenancy
    area = DOCUMENTS
    texts = "SELECT * FROM chunk_text"
    contradictions = CONTRADICTIONS
    tables = ("document", "section", "chunk", "term", "embedding")
