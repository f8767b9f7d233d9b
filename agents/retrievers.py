"""Past conversations and documents as LangChain retrievers: a question in, passages out.

chain = MemoryRetriever(memory=store, k=5) | format_documents | prompt | model
"""

from typing import Annotated, Final

from langchain_core.callbacks import CallbackManagerForRetrieverRun
from langchain_core.documents import Document
from langchain_core.retrievers import BaseRetriever
from pydantic import ConfigDict, Field, SkipValidation

from kds.brain.clock import utc_now
from kds.brain.documents.recall import DOCUMENT_BIAS
from kds.brain.documents.store import Documents
from kds.brain.documents.values import ALL, DocumentHit
from kds.brain.memory.memory_store import MemoryStore, log_recall
from kds.brain.passages.recall import Hit, recall
from kds.brain.passages.store import Embedder
from kds.brain.passages.values import Scope
from kds.brain.settings import RecallOptions

SURFACE: Final = "retriever"


class MemoryRetriever(BaseRetriever):
    """Retrieves passages of past conversations; `k` may also be given with a call.

    Metadata of a document: `session_id`, `message_id`, `role`, `speaker`, `at` (ISO 8601),
    `kind` ("prose" or "code"), `header`, `score`, `elsewhere` (of another session than the one
    asked about) and `why`. Raises StoreError when the memory cannot be read.
    """

    model_config = ConfigDict(arbitrary_types_allowed=True)

    memory: Annotated[MemoryStore, SkipValidation]
    k: int = Field(default=10, ge=1)
    session_id: str | None = None
    """This session first, the others only when it has too little."""
    document: str | None = None
    """Sessions about this document are preferred."""
    options: RecallOptions = RecallOptions()
    embedder: Annotated[Embedder | None, SkipValidation] = None

    def _get_relevant_documents(
        self, query: str, *, run_manager: CallbackManagerForRetrieverRun, k: int | None = None
    ) -> list[Document]:
        found = recall(
            self.memory,
            query,
            scope=Scope(self.session_id, self.document),
            limit=self.k if k is None else k,
            options=self.options,
            embedder=self.embedder,
            now=utc_now(),
        )
        log_recall(self.memory, found, surface=SURFACE)
        own = "session_id message_id role speaker kind header"
        return [
            _document(
                hit, hit.passage.body, own, at=hit.passage.at.isoformat(), elsewhere=hit.elsewhere
            )
            for hit in found.hits
        ]


class DocumentRetriever(BaseRetriever):
    """Retrieves passages of documents; `k` may also be given with a call.

    Metadata of a document: `source` (the file), `title`, `citation`, `section` (the headings that
    lead to it), `page`, `kind`, `terms` (what it defines), `score`, `bias` and `why`. Raises
    StoreError when the store cannot be read or `scope` names no document.
    """

    model_config = ConfigDict(arbitrary_types_allowed=True)

    documents: Annotated[Documents, SkipValidation]
    k: int = Field(default=5, ge=1)
    document: str | None = None
    """The document that is asked about: its passages are preferred, no others are hidden."""
    scope: str = ALL
    """"all", or the only document to look at."""
    bias: float = Field(default=DOCUMENT_BIAS, gt=0)
    embedder: Annotated[Embedder | None, SkipValidation] = None

    def _get_relevant_documents(
        self, query: str, *, run_manager: CallbackManagerForRetrieverRun, k: int | None = None
    ) -> list[Document]:
        found = self.documents.search(
            query,
            limit=self.k if k is None else k,
            document=self.document,
            scope=self.scope,
            embedder=self.embedder,
            bias=self.bias,
        )
        return [
            _document(
                hit, hit.passage.text, "title section page kind terms",
                source=hit.passage.path, citation=hit.citation, bias=hit.bias,
            )
            for hit in found.hits
        ]  # fmt: skip


def _document(hit: Hit | DocumentHit, text: str, fields: str, **more: object) -> Document:
    """A hit with these ``fields`` of its passage as metadata."""
    values = {name: getattr(hit.passage, name) for name in fields.split()}
    values |= {**more, "score": round(hit.score, 4), "why": hit.why}
    plain = {name: list(one) if isinstance(one, tuple) else one for name, one in values.items()}
    return Document(text, id=str(hit.passage.chunk_id), metadata=plain)
