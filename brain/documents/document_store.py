"""The documents of a workspace in one SQLite file, beside the conversation memory.

For any number of threads and processes at once; looked after as the memory is (`kds.brain.memory`
has the connections, the outbox, the vectors, the search index). What an embedding model needs is
`kds.brain.passages.store.EmbeddingStore`, which this is too.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Final, TypeVar

from kds.brain.clock import Clock, utc_now
from kds.brain.database import health
from kds.brain.database.database import TIMEOUT_S, Database
from kds.brain.database.database_error import is_damage
from kds.brain.database.deletion import scrub, scrub_if_due
from kds.brain.documents.content import Content, Source
from kds.brain.documents.document_recall import recall
from kds.brain.documents.document_rows import read_chunks
from kds.brain.documents.document_schema import DOCUMENTS, MIGRATIONS
from kds.brain.documents.document_table import DocumentTable
from kds.brain.documents.document_values import (
    ALL,
    Document,
    DocumentRecall,
    Holdings,
    Passage,
    Section,
)
from kds.brain.documents.examination import examine, holdings
from kds.brain.documents.naming import find, find_whole, unknown_document
from kds.brain.documents.ranking import DOCUMENT_BIAS, LIMIT, Request
from kds.brain.documents.searches import FileSearches
from kds.brain.errors import StoreError
from kds.brain.passages.fts_words import WordForms
from kds.brain.passages.outbox import Outbox, backfill
from kds.brain.passages.searching import TextSearch
from kds.brain.passages.store import Embedder, EmbeddingStore
from kds.brain.passages.values import Check, EmbeddingJob, EmbeddingModel
from kds.brain.passages.vectors import VectorSearch
from kds.brain.words.tokens import TokenCounter, estimate_tokens

FILE_NAME: Final = "documents.db"
"""In the `kds-brain` folder of a workspace."""

T = TypeVar("T")


class DocumentStore:
    """The documents of one workspace."""

    def __init__(
        self,
        path: Path,
        *,
        clock: Clock = utc_now,
        count_tokens: TokenCounter = estimate_tokens,
        timeout_s: float = TIMEOUT_S,
    ) -> None:
        """Open the file, or make it. Raises StoreError; `warnings` says what was put right."""
        self.database = Database(
            path, clock=clock, timeout_s=timeout_s, migrations=MIGRATIONS, kind=DOCUMENTS
        )
        self._forms = WordForms()
        self._table = DocumentTable(self.database, count_tokens)
        self._text = TextSearch(self.database, self._forms)
        self._vectors = VectorSearch(self.database)
        self._outbox = Outbox(self.database, read_chunks)
        scrub_if_due(self.database)

    @property
    def warnings(self) -> tuple[str, ...]:
        """What was found and put right since the store was opened."""
        return self.database.warnings

    @property
    def path(self) -> Path:
        """The file."""
        return self.database.path

    def put(self, content: Content, source: Source) -> Document:
        """Store a document, in the place of what its file said before: at once or not at all.

        The bytes of what it replaces go with the next `tidy` or `remove`.
        """
        return self._healing(lambda: self._table.put(content, source))

    def touch(self, document: Document, source: Source) -> None:
        """Note that the file of a document has another date but says the same."""
        self._table.touch(document.id, source)

    def remove(self, names: Sequence[str]) -> tuple[Document, ...]:
        """Remove documents and their bytes; returns them.

        Names must be whole: an id, path, file name or title. Raises StoreError for any other,
        and removes nothing then.
        """
        documents = self.documents()
        found = {
            one.id: one for one in (find_whole(documents, name, where=self.path) for name in names)
        }
        self._healing(lambda: self._table.remove(tuple(found)))
        return tuple(found.values())

    def tidy(self) -> None:
        """Remove the bytes of what was replaced, if anything was."""
        scrub(self.database)

    def documents(self) -> tuple[Document, ...]:
        """Return all documents, by path."""
        return self._table.list()

    def current_paths(self) -> Mapping[str, bool]:
        """Return the paths of all documents, and whether they need not be read again for KDS."""
        return self._table.current()

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
        return self._table.sections(self.document(name).id)

    def passages(self, ids: Sequence[int]) -> tuple[Passage, ...]:
        """Return the passages with these ids that exist, in the order asked for."""
        return self._table.passages(ids)

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
        searches = FileSearches(self.database, self._text, self._vectors)
        found = self._healing(lambda: recall(searches, request, embedder=embedder))
        if document and about is None:
            note = f"no document '{document}' is in the store: none is preferred"
            found = replace(found, notes=(*found.notes, note))
        return found

    def use_model(self, name: str | None) -> None:
        """Say whose vectors are wanted from now on."""
        self._outbox.use(name)

    def models(self) -> tuple[EmbeddingModel, ...]:
        """Return the models in use: the serving one first."""
        return self._outbox.models()

    def pending_embeddings(self, limit: int) -> tuple[EmbeddingJob, ...]:
        """Claim up to ``limit`` passages that are due."""
        return self._outbox.claim(limit)

    def store_embeddings(self, model: str, vectors: Mapping[int, Sequence[float]]) -> int:
        """Store vectors by passage and take their jobs off the queue."""
        return self._outbox.store(model, vectors)

    def fail_embeddings(self, chunk_ids: Sequence[int], error: str) -> None:
        """Put jobs back: tried again later and later, and given up after some attempts."""
        self._outbox.fail(chunk_ids, error)

    def retry_embeddings(self) -> int:
        """Make every job due now, also those given up."""
        return self._outbox.retry()

    def holdings(self) -> Holdings:
        """Return how much is stored."""
        return holdings(self.database)

    def check(self) -> Check:
        """Examine the whole store; changes nothing."""
        return examine(self.database)

    def rebuild(self) -> Check:
        """Make the search index anew, queue what has no vector, and examine everything."""
        with self.database.write() as connection:
            health.remake_indexes(connection, DOCUMENTS.indexes)
            backfill(connection)
        return self.check()

    def close(self) -> None:
        """Let go of the file. Closing twice is fine."""
        self._forms.close()
        self.database.close()

    def __enter__(self) -> "DocumentStore":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _healing(self, call: Callable[[], T]) -> T:
        try:
            return call()
        except StoreError as error:
            if not is_damage(error.__cause__) or not health.mend_index(self.database):
                raise
        return call()


if TYPE_CHECKING:
    _checked: type[EmbeddingStore] = DocumentStore
