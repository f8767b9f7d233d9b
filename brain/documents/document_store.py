"""The documents of a workspace in one SQLite file, beside the conversation memory."""

from kds.brain.database.database import Database
from kds.brain.database.database_file import all_files, size_of
from kds.brain.database.migrations import version_of
from kds.brain.documents.document_schema import DOCUMENTS
from kds.brain.documents.document_values import Holdings
from kds.brain.documents.documents import Documents
from kds.brain.passages.passage_file import PassageFile


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
