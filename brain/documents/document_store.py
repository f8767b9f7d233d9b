"""The documents of a workspace in one SQLite file, beside the conversation memory."""

from pathlib import Path

from kds.brain.clock import Clock
from kds.brain.documents.document_schema import DOCUMENTS
from kds.brain.documents.document_values import Holdings
from kds.brain.documents.documents import Documents
from kds.brain.git import DOCUMENT_FILES
from kds.brain.passages.passage_file import PassageFile
from kds.brain.passages.store import Place
from kds.brain.store.migrations import version_of
from kds.brain.store.sqlite import Database
from kds.brain.store.sqlite_files import all_files, size_of
from kds.brain.words.tokens import TokenCounter
from kds.brain.workspace import SharedDatabase


class DocumentStore(PassageFile, Documents):
    """The documents of one workspace."""

    database: Database
    kind = DOCUMENTS
    file_name = "documents.db"
    holders = "document"

    def holdings(self) -> Holdings:
        """Return how much is stored."""
        with self.database.read() as connection:
            counts = self.counts(connection)
            version = version_of(connection)
        return Holdings(*counts, sum(map(size_of, all_files(self.path))), version)


class DocumentPlace(Place[Documents]):
    """The documents of a workspace, wherever they are."""

    __slots__ = ()

    @property
    def path(self) -> Path:
        """The file, whether it is used or not."""
        return DocumentStore.path_in(self.workspace)

    def _private(self) -> tuple[str, ...]:
        return DOCUMENT_FILES

    def _on_server(self, shared: SharedDatabase, clock: Clock, count: TokenCounter) -> Documents:
        from kds.brain.documents.postgres_documents import PostgresDocuments  # for who has a server

        return PostgresDocuments.of(shared, clock=clock, count_tokens=count)

    def _in_file(self, clock: Clock, count: TokenCounter) -> Documents:
        return DocumentStore(self.path, clock=clock, count_tokens=count)
