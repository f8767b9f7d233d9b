"""What goes over the wire about the memory itself: figures, a look inside, consent."""

from typing import Annotated, Any, Self

from fastapi import Query
from pydantic import BaseModel, ConfigDict, Field

from kds.brain.passages.recalled import Hit
from kds.brain.passages.values import EmbeddingModel
from kds.brain.sessions.profile import PURPOSE_LIMIT
from kds.brain.sessions.session_table import ID_LIMIT
from kds.brain.sessions.session_values import Stats
from kds.brain.sessions.side_stores import Consent, ConsentEvent
from kds.service.health import as_text
from kds.service.schemas import MESSAGE_LIMIT, PATH_LIMIT, ReferenceReply

MOST_HOURS = 30 * 24
"""As long as measurements are kept."""

HoursQuery = Annotated[
    int, Query(ge=1, le=MOST_HOURS, description="How far to look back.", examples=[24])
]
QuestionQuery = Annotated[
    str,
    Query(
        min_length=1,
        max_length=MESSAGE_LIMIT,
        description="A question, as it would be asked.",
        examples=["And what happens if it falls on a weekend?"],
    ),
]
ConversationIdQuery = Annotated[
    str | None,
    Query(
        alias="conversationId",
        min_length=1,
        max_length=ID_LIMIT,
        description="Id of a session, in whose light the question is read.",
    ),
]


class GrantRequest(BaseModel):
    """Consent to something: for what the profile may be kept and used."""

    model_config = ConfigDict(extra="forbid", strict=True, frozen=True)

    purpose: str = Field(
        min_length=1, max_length=PURPOSE_LIMIT, examples=["answers that suit my work"]
    )
    workspace: str | None = Field(default=None, min_length=1, max_length=PATH_LIMIT)


class ConsentEventReply(BaseModel):
    """A line of the audit log; it never holds what the profile says."""

    at: str
    action: str = Field(description="granted, revoked, changed or used.")
    purpose: str


class ConsentReply(BaseModel):
    """Whether a profile of the user may be kept, and what was done with it so far."""

    given: bool
    since: str | None = Field(description="Of the last change; null: never asked.")
    purpose: str
    events: list[ConsentEventReply]

    @classmethod
    def of(cls, consent: Consent, events: tuple[ConsentEvent, ...]) -> Self:
        """Take what is stored."""
        return cls(
            given=consent.given,
            since=None if consent.since is None else as_text(consent.since),
            purpose=consent.purpose,
            events=[
                ConsentEventReply(at=as_text(one.at), action=one.action, purpose=one.purpose)
                for one in events
            ],
        )


class SessionHitsReply(BaseModel):
    """How often what sessions remembered was of use (docs/query.md defines it)."""

    sessions: int
    turns: int
    later_turns: int
    hits: int
    hit_rate: float | None


class StoredReply(BaseModel):
    """How much the memory holds."""

    sessions: int
    messages: int
    tokens: int
    size_bytes: int


class MetricsReply(BaseModel):
    """What `kds metrics --json` prints, and the hit rate of the session memory."""

    since: str
    until: str
    turns: dict[str, Any] | None
    recalls: dict[str, Any] | None
    buckets: list[dict[str, Any]]
    memory: StoredReply
    session_memory: SessionHitsReply


class ModelStats(BaseModel):
    """An embedding model and its vectors."""

    name: str
    dimensions: int | None
    state: str
    vectors: int
    waiting: int
    failed: int
    last_error: str

    @classmethod
    def of(cls, model: EmbeddingModel) -> Self:
        """Take what is stored."""
        return cls(
            name=model.name,
            dimensions=model.dimensions,
            state=model.state,
            vectors=model.vectors,
            waiting=model.waiting,
            failed=model.failed,
            last_error=model.last_error,
        )


class MemoryStats(StoredReply):
    """The memory in detail."""

    enabled: bool
    chunks: int
    summaries: int
    schema_version: int | None = Field(description="null: nothing was ever remembered.")
    models: list[ModelStats]

    @classmethod
    def of(cls, stats: Stats | None, *, enabled: bool) -> Self:
        """Take what is stored; zeros when there is nothing."""
        found = stats or Stats(0, 0, 0, 0, 0, (), 0, 0)
        return cls(
            enabled=enabled,
            sessions=found.sessions,
            messages=found.messages,
            chunks=found.chunks,
            summaries=found.summaries,
            tokens=found.tokens,
            size_bytes=found.size_bytes,
            schema_version=None if stats is None else found.schema_version,
            models=[ModelStats.of(model) for model in found.models],
        )


class DocumentStats(BaseModel):
    """The document store."""

    documents: int
    sections: int
    chunks: int
    tokens: int
    size_bytes: int


class QueryStats(BaseModel):
    """The queries since the service started, wall time in milliseconds."""

    count: int
    answered: int
    answer_errors: int
    waiting: int = Field(description="Requests that wait for the router's thread now.")
    p50_ms: float | None
    p95_ms: float | None


class EmbeddingStats(BaseModel):
    """The background embedding of chunks that wait."""

    model: str | None = Field(description="null: none is configured.")
    embedded: int
    failures: int
    last_error: str | None


class StatsReply(BaseModel):
    """What is stored, and how the service is doing."""

    memory: MemoryStats
    documents: DocumentStats
    queries: QueryStats
    embedding: EmbeddingStats


class HitScores(BaseModel):
    """What each search gave, 0 to 1; null: it has nothing to say."""

    dense: float | None
    lexical: float
    code: float


class DebugHit(BaseModel):
    """A passage of a conversation, with its signals."""

    text: str
    session: str
    message: str
    role: str
    kind: str
    at: str
    score: float
    signals: HitScores
    elsewhere: bool
    why: list[str]

    @classmethod
    def of(cls, hit: Hit) -> Self:
        """Take what a recall found."""
        parts, passage = hit.parts, hit.passage
        return cls(
            text=passage.body,
            session=passage.session_id,
            message=passage.message_id,
            role=passage.role,
            kind=passage.kind,
            at=as_text(passage.at),
            score=round(hit.score, 4),
            signals=HitScores(
                dense=None if parts.dense is None else round(parts.dense, 4),
                lexical=round(parts.lexical, 4),
                code=round(parts.code, 4),
            ),
            elsewhere=hit.elsewhere,
            why=list(hit.why),
        )


class DebugDocumentHit(BaseModel):
    """A passage of a document, with its signals."""

    text: str
    citation: str
    source_path: str
    score: float
    bias: float
    signals: dict[str, float]
    why: list[str]


class QuestionRead(BaseModel):
    """How the memory's search reads the question that was rewritten."""

    words: list[str]
    identifiers: list[str]
    period: dict[str, str | None] | None = Field(description="What `yesterday` or `in May` means.")
    asks_when: bool
    asks_for_code: bool
    concepts: list[str] = Field(description="Terms that documents define, or names.")


class WeightsReply(BaseModel):
    """What each search of the memory counts."""

    dense: float
    lexical: float
    code: float
    document_bias: float


class RetrievalReply(BaseModel):
    """How a question would be answered, step by step. Asking changes nothing."""

    query: str
    rewritten_query: str
    rewritten_by: str
    references: list[ReferenceReply]
    why: list[str]
    session_memory: list[str] = Field(description="What the session referred to, latest first.")
    question: QuestionRead
    documents: list[DebugDocumentHit]
    conversations: list[DebugHit]
    weights: WeightsReply
    counts: dict[str, int] = Field(description="Candidates of each search of the memory.")
    flags: dict[str, bool]
    timings_ms: dict[str, float]
    notes: list[str]
