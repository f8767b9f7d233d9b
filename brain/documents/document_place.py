"""Where a workspace's documents are."""

from pathlib import Path

from kds.brain.clock import Clock
from kds.brain.documents.document_store import DocumentStore
from kds.brain.documents.documents import Documents
from kds.brain.passages.place import Place
from kds.brain.shared_database import SharedDatabase
from kds.brain.words.tokens import TokenCounter


class DocumentPlace(Place[Documents]):
    """The documents of a workspace, wherever they are."""

    __slots__ = ()

    @property
    def path(self) -> Path:
        """The file, whether it is used or not."""
        return DocumentStore.path_in(self.workspace)

    def _on_server(self, shared: SharedDatabase, clock: Clock, count: TokenCounter) -> Documents:
        from kds.brain.postgres.postgres_documents import PostgresDocuments  # for who has a server

        return PostgresDocuments.of(shared, clock=clock, count_tokens=count)

    def _in_file(self, clock: Clock, count: TokenCounter) -> Documents:
        return DocumentStore(self.path, clock=clock, count_tokens=count)
