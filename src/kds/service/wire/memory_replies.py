"""What goes over the wire about the memory itself: figures, a look inside, consent."""

from dataclasses import asdict
from datetime import datetime
from typing import Annotated, Any

from pydantic import AliasPath, BeforeValidator, Field

from kds.brain.passages.values import EmbeddingModel
from kds.brain.sessions.session_values import ConsentEvent
from kds.brain.turn import Reference
from kds.brain.words.period import Period
from kds.query.metric import SessionHits
from kds.service.wire.value_view import HitScores, Reply, Rounded


def _texts(period: Period | None) -> dict[str, str | None] | None:
    if period is None:
        return None
    return {name: value and str(value) for name, value in asdict(period).items()}


class ConsentReply(Reply):
    """Whether a profile of the user may be kept, and what was done with it so far."""

    given: bool
    since: datetime | None
    """Of the last change; null: never asked."""
    purpose: str
    events: tuple[ConsentEvent, ...] = ()


class StoredReply(Reply):
    """How much the memory holds."""

    sessions: int = 0
    messages: int = 0
    tokens: int = 0
    size_bytes: int = 0


class MetricsReply(Reply):
    """What `kds metrics --json` prints, and the hit rate of the session memory."""

    since: str
    until: str
    turns: dict[str, Any] | None
    recalls: dict[str, Any] | None
    windows: dict[str, Any] | None = None
    embedding: dict[str, Any] | None = None
    content: dict[str, int] = Field(default_factory=dict)
    buckets: list[dict[str, Any]]
    memory: StoredReply
    session_memory: SessionHits


class MemoryStats(StoredReply):
    """The memory in detail."""

    enabled: bool = True
    chunks: int = 0
    summaries: int = 0
    schema_version: int | None = None
    """null: nothing was ever remembered."""
    models: tuple[EmbeddingModel, ...] = ()


class DocumentStats(Reply):
    """The document store."""

    documents: int = 0
    sections: int = 0
    chunks: int = 0
    tokens: int = 0
    size_bytes: int = 0


class QueryStats(Reply):
    """The queries since the service started, wall time in milliseconds."""

    count: int
    answered: int
    answer_errors: int
    waiting: int = 0
    """Requests that wait for the router's thread now."""
    p50_ms: float | None
    p95_ms: float | None


class EmbeddingStats(Reply):
    """The background embedding of chunks that wait."""

    model: str | None = None
    """null: none is configured."""
    embedded: int
    failures: int
    last_error: str | None


class StatsReply(Reply):
    """What is stored, and how the service is doing."""

    memory: MemoryStats
    index_bytes: dict[str, int] = Field(default_factory=dict)
    """Of each search index in the files of the workspace."""
    consent: bool = False
    """Whether a profile may be kept and used."""
    documents: DocumentStats
    queries: QueryStats
    embedding: EmbeddingStats


class DebugHit(Reply):
    """A passage of a conversation, with its signals."""

    text: str = Field(validation_alias=AliasPath("passage", "body"))
    session: str = Field(validation_alias=AliasPath("passage", "session_id"))
    message: str = Field(validation_alias=AliasPath("passage", "message_id"))
    role: str = Field(validation_alias=AliasPath("passage", "role"))
    kind: str = Field(validation_alias=AliasPath("passage", "kind"))
    at: datetime = Field(validation_alias=AliasPath("passage", "at"))
    score: Rounded
    signals: HitScores = Field(validation_alias="parts")
    elsewhere: bool
    why: list[str]


class DebugDocumentHit(Reply):
    """A passage of a document, with its signals."""

    text: str = Field(validation_alias=AliasPath("passage", "text"))
    citation: str
    source_path: str = Field(validation_alias=AliasPath("passage", "path"))
    score: Rounded
    bias: Rounded
    signals: dict[str, Rounded] = Field(validation_alias="parts")
    why: list[str]


class QuestionRead(Reply):
    """How the memory's search reads the question that was rewritten."""

    words: list[str]
    identifiers: list[str]
    period: Annotated[dict[str, str | None] | None, BeforeValidator(_texts)]
    """What `yesterday` or `in May` means."""
    asks_when: bool
    asks_for_code: bool
    concepts: tuple[str, ...] = ()
    """Terms that documents define, or names."""


class WeightsReply(Reply):
    """What each search of the memory counts."""

    dense: float = Field(validation_alias=AliasPath("weights", "alpha"))
    lexical: float = Field(validation_alias=AliasPath("weights", "beta"))
    code: float = Field(validation_alias=AliasPath("weights", "gamma"))
    document_bias: float


class RetrievalReply(Reply):
    """How a question would be answered, step by step. Asking changes nothing."""

    query: str
    rewritten_query: str
    rewritten_by: str
    references: list[Reference]
    why: list[str]
    session_memory: list[str]
    """What the session referred to, latest first."""
    question: QuestionRead
    documents: list[DebugDocumentHit]
    conversations: list[DebugHit]
    weights: WeightsReply
    counts: dict[str, int]
    """Candidates of each search of the memory."""
    flags: dict[str, bool]
    timings_ms: dict[str, float]
    summaries: list[str] = Field(default_factory=list)
    """Of the conversation, that were found."""
    budget_tokens: int | None = None
    used_tokens: int = 0
    """Tokens of conversations that may be quoted, and those that were."""
    notes: list[str]
