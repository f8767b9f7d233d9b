"""Past conversations and documents as LangChain retrievers: a question in, passages out.

chain = MemoryRetriever(memory=store, k=5) | format_documents | prompt | model
"""

from typing import Annotated, Any, Final

from langchain_core.callbacks import CallbackManagerForRetrieverRun
from langchain_core.documents import Document
from langchain_core.retrievers import BaseRetriever
from pydantic import ConfigDict, Field, SkipValidation

from kds.brain.clock import utc_now
from kds.brain.documents.recall import DOCUMENT_BIAS
from kds.brain.documents.store import Documents
from kds.brain.documents.values import ALL, DocumentHit
from kds.brain.memory.memory_store import MemoryStore, log_recall
from kds.brain.passages.recall import Hit, RecallSettings, recall
from kds.brain.passages.store import Embedder
from kds.brain.passages.values import Scope

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
    settings: RecallSettings = RecallSettings()
    embedder: Annotated[Embedder | None, SkipValidation] = None

    def _get_relevant_documents(
        self, query: str, *, run_manager: CallbackManagerForRetrieverRun, k: int | None = None
    ) -> list[Document]:
        found = recall(
            self.memory,
            query,
            scope=Scope(self.session_id, self.document),
            limit=self.k if k is None else k,
            settings=self.settings,
            embedder=self.embedder,
            now=utc_now(),
        )
        log_recall(self.memory, found, surface=SURFACE)
        return [Document(hit.passage.body, id=str(hit.passage.chunk_id), metadata=_of_message(hit))
                for hit in found.hits]  # fmt: skip


def _of_message(hit: Hit) -> dict[str, Any]:
    passage = hit.passage
    return {
        "session_id": passage.session_id,
        "message_id": passage.message_id,
        "role": passage.role,
        "speaker": passage.speaker,
        "at": passage.at.isoformat(),
        "kind": passage.kind,
        "header": passage.header,
        "score": round(hit.score, 4),
        "elsewhere": hit.elsewhere,
        "why": list(hit.why),
    }


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
            Document(hit.passage.text, id=str(hit.passage.chunk_id), metadata=_of_document(hit))
            for hit in found.hits
        ]


def _of_document(hit: DocumentHit) -> dict[str, Any]:
    passage = hit.passage
    return {
        "source": passage.path,
        "title": passage.title,
        "citation": hit.citation,
        "section": list(passage.section),
        "page": passage.page,
        "kind": passage.kind,
        "terms": list(passage.terms),
        "score": round(hit.score, 4),
        "bias": hit.bias,
        "why": list(hit.why),
    }
