"""Past conversations as a LangChain retriever: a question in, passages out.

chain = MemoryRetriever(memory=store, k=5) | format_documents | prompt | model
"""

from typing import Annotated, Final

from langchain_core.callbacks import CallbackManagerForRetrieverRun
from langchain_core.documents import Document
from langchain_core.retrievers import BaseRetriever
from pydantic import ConfigDict, Field, SkipValidation

from kds.brain.clock import utc_now
from kds.brain.memory.memory_store import MemoryStore, log_recall
from kds.brain.passages.recall import Hit, recall
from kds.brain.passages.store import Embedder
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
            session=self.session_id,
            document=self.document,
            limit=self.k if k is None else k,
            options=self.options,
            embedder=self.embedder,
            now=utc_now(),
        )
        log_recall(self.memory, found, surface=SURFACE)
        return list(map(_document, found.hits))


def _document(hit: Hit) -> Document:
    passage, names = hit.passage, "session_id message_id role speaker kind header"
    found = {name: getattr(passage, name) for name in names.split()}
    found |= {"at": passage.at.isoformat(), "elsewhere": hit.elsewhere}
    found |= {"score": round(hit.score, 4), "why": list(hit.why)}
    return Document(passage.body, id=str(passage.chunk_id), metadata=found)
