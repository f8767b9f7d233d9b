"""The documents of a workspace as a LangChain retriever: a question in, cited passages out.

chain = DocumentRetriever(documents=store, k=5) | format_documents | prompt | model
"""

from typing import Annotated, Any

from langchain_core.callbacks import CallbackManagerForRetrieverRun
from langchain_core.documents import Document
from langchain_core.retrievers import BaseRetriever
from pydantic import ConfigDict, Field, SkipValidation

from kds.brain.documents.recall import DOCUMENT_BIAS
from kds.brain.documents.store import Documents
from kds.brain.documents.values import ALL, DocumentHit
from kds.brain.passages.store import Embedder


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
            Document(hit.passage.text, id=str(hit.passage.chunk_id), metadata=_metadata(hit))
            for hit in found.hits
        ]


def _metadata(hit: DocumentHit) -> dict[str, Any]:
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
