"""The memory over HTTP: figures, a look inside, and the consent to a profile."""

from dataclasses import asdict
from datetime import datetime, timedelta
from typing import Annotated, Any, TypeVar

from fastapi import APIRouter, Query, Request
from pydantic import AliasPath, BeforeValidator, Field
from starlette.responses import JSONResponse, Response

from kds.brain.clock import utc_now
from kds.brain.memory.memory_store import MemoryStore
from kds.brain.memory.profile import PURPOSE_LIMIT
from kds.brain.memory.records import Consent, ConsentEvent
from kds.brain.memory.sessions import ID_LIMIT
from kds.brain.message import MESSAGE_LIMIT
from kds.brain.passages.question import read_question
from kds.brain.passages.values import EmbeddingModel
from kds.brain.store.health import index_sizes
from kds.brain.turn import Reference
from kds.brain.words.period import Period
from kds.query.service import QueryService, rewriting_of
from kds.query.session import SessionHits
from kds.query.values import DEFAULT_LIMIT, MOST_CHUNKS, Scope
from kds.query.values import Query as Question
from kds.service.models import PATH_LIMIT, HitScores, Reply, RequestBody, Rounded
from kds.service.operation import (
    documented,
    served_workspace,
)
from kds.service.workspaces import ServedWorkspace
from kds.testing.metrics_report import read_report

router = APIRouter(prefix="/api/memory", tags=["memory"])

WEEK_HOURS = 7 * 24
"""As far back as `kds metrics` looks."""


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


class GrantRequest(RequestBody):
    """Consent to a profile: for what it may be kept and used."""

    purpose: str = Field(
        min_length=1, max_length=PURPOSE_LIMIT, examples=["answers that suit my work"]
    )


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


_Stored = TypeVar("_Stored", bound=StoredReply)


@router.get("/metrics", responses=documented(MetricsReply, 404, 422, 503))
async def metrics(request: Request, hours: HoursQuery = WEEK_HOURS) -> Response:
    """Return what `kds metrics --json` prints, and how often the session memory was of use."""
    served = served_workspace(request)

    def read() -> dict[str, object]:
        store = served.memory_if_any()
        corrections = served.conversations.library.corrections()
        report = read_report(store, timedelta(hours=hours), corrections)
        return report.as_dict() | {
            "memory": _stored(StoredReply, store).model_dump(),
        }

    return JSONResponse(await served.archivist.run(read))


@router.get("/debug/stats", responses=documented(StatsReply, 404, 422, 503))
async def stats(request: Request) -> Response:
    """Return how much is stored, and how the queries and the embedding are doing."""
    served = served_workspace(request)
    waiting = served.worker.waiting
    found = await served.archivist.run(lambda: _stats(served, waiting))
    return found.response()


@router.get("/debug/retrieval", responses=documented(RetrievalReply, 400, 404, 422, 503))
async def retrieval(
    request: Request,
    q: QuestionQuery,
    conversation: ConversationIdQuery = None,
    scope: Annotated[Scope, Query(description="Where to look, as for `POST /query`.")] = "all",
    source_path: Annotated[str | None, Query(min_length=1, max_length=PATH_LIMIT)] = None,
    limit: Annotated[int, Query(ge=1, le=MOST_CHUNKS, description="Most hits.")] = DEFAULT_LIMIT,
) -> Response:
    """Show how a question would be read, rewritten and searched for; nothing is stored."""
    served = served_workspace(request)
    question = Question(
        q, session=conversation, source=source_path, scope=scope, limit=limit, answer=False
    )
    found = await served.worker.run(lambda: look(served.queries, question), patient=True)
    return found.response()


@router.get("/consent", responses=documented(ConsentReply, 404, 422, 503))
async def consent(request: Request) -> Response:
    """Say whether a profile of the user may be kept, and what was done with it."""
    served = served_workspace(request)
    return await _consent(served)


@router.post("/consent", responses=documented(ConsentReply, 400, 404, 409, 422, 503))
async def grant(request: Request, asked: GrantRequest) -> Response:
    """Note the user's consent to a profile, and what it is for."""
    served = served_workspace(request)
    await served.archivist.run(lambda: served.consent(asked.purpose))
    return await _consent(served)


@router.delete("/consent", responses=documented(ConsentReply, 404, 422, 503))
async def revoke(request: Request) -> Response:
    """Withdraw consent, and erase the profile with its bytes in every file."""
    served = served_workspace(request)
    await served.archivist.run(served.revoke_consent)
    return await _consent(served)


async def _consent(served: ServedWorkspace) -> Response:
    found = await served.archivist.run(lambda: _consent_of(served.memory_if_any()))
    return found.response()


def _consent_of(store: MemoryStore | None) -> ConsentReply:
    if store is None:
        return ConsentReply.model_validate(Consent(given=False))
    given = ConsentReply.model_validate(store.profile.consent())
    return given.model_copy(update={"events": store.profile.events()})


def _stored(kind: type[_Stored], store: MemoryStore | None) -> _Stored:
    """What the memory holds; zeros when there is none."""
    return kind.model_validate(store.stats()) if store else kind()


def _stats(served: ServedWorkspace, waiting: int) -> StatsReply:
    held = served.queries.library.holdings()
    store = served.memory_if_any()
    memory = _stored(MemoryStats, store)
    queries = QueryStats.model_validate(served.queries.tally)
    embedding = EmbeddingStats.model_validate(served.embedding)
    model = served.memory.config.settings.recall.embeddings
    return StatsReply(
        memory=memory.model_copy(update={"enabled": served.memory.flags.enabled}),
        index_bytes=index_sizes(store.database) if store else {},
        consent=store.profile.consent().given if store else False,
        documents=DocumentStats.model_validate(held) if held else DocumentStats(),
        queries=queries.model_copy(update={"waiting": waiting}),
        embedding=embedding.model_copy(update={"model": model}),
    )


def look(service: QueryService, query: Question) -> RetrievalReply:
    """Understand and search as `POST /query` does, and tell everything. Nothing is stored."""
    found = service.search(service.understand(query, remembers=False))  # and asks no model
    turn, findings = found.turn, found.findings
    recall, documents = findings.conversations, findings.documents
    question = recall.question if recall else read_question(turn.expanded, now=utc_now())
    timings = dict(found.timings_ms)
    for name, stages in (
        ("memory", recall.timings_ms if recall else {}),
        ("documents", documents.timings_ms if documents else {}),
    ):
        timings |= {f"{name}.{stage}": ms for stage, ms in stages.items()}
    found_documents = documents.hits if documents else ()
    found_passages = recall.hits if recall else ()
    read = QuestionRead.model_validate(question)
    return RetrievalReply(
        query=found.query.text,
        rewritten_query=turn.expanded,
        rewritten_by=rewriting_of(turn).by,
        references=list(turn.references),
        why=list(turn.why),
        session_memory=list(reversed(found.known.terms)) if found.known else [],
        question=read.model_copy(update={"concepts": documents.concepts if documents else ()}),
        documents=[DebugDocumentHit.model_validate(hit) for hit in found_documents],
        conversations=[DebugHit.model_validate(hit) for hit in found_passages],
        weights=WeightsReply.model_validate(service.memory.recall_settings),
        counts=dict(recall.counts) if recall else {},
        flags=dict(recall.flags) if recall else {},
        timings_ms={stage: round(ms, 3) for stage, ms in timings.items()},
        summaries=[summary.text for summary, _ in recall.summaries] if recall else [],
        budget_tokens=findings.budget_tokens,
        used_tokens=findings.used_tokens,
        notes=[*found.warnings, *findings.notes],
    )
