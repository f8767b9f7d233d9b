"""The memory's figures, a look inside, and the consent to a profile, over HTTP."""

from datetime import timedelta
from typing import Annotated, TypeVar

from fastapi import APIRouter, Query, Request
from starlette.responses import JSONResponse, Response

from kds.brain.clock import utc_now
from kds.brain.database.health import index_sizes
from kds.brain.message import MESSAGE_LIMIT
from kds.brain.passages.query import read_question
from kds.brain.sessions.memory_store import MemoryStore
from kds.brain.sessions.session_table import ID_LIMIT
from kds.brain.sessions.session_values import Consent
from kds.query.query_service import QueryService
from kds.query.understood import rewriting_of
from kds.query.values import DEFAULT_LIMIT, MOST_CHUNKS, Scope
from kds.query.values import Query as Question
from kds.service.wire import memory_replies as replies
from kds.service.wire.operation import (
    WorkspaceQuery,
    archive_worker,
    documented,
    router_worker,
    served_workspace,
)
from kds.service.wire.schemas import PATH_LIMIT, GrantRequest
from kds.service.workspaces import ServedWorkspace
from kds.testing.metrics_report import read_report

_Stored = TypeVar("_Stored", bound=replies.StoredReply)

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


@router.get("/metrics", responses=documented(replies.MetricsReply, 404, 422, 503))
async def metrics(
    request: Request, hours: HoursQuery = WEEK_HOURS, workspace: WorkspaceQuery = None
) -> Response:
    """Return what `kds metrics --json` prints, and how often the session memory was of use."""
    served = served_workspace(request, workspace)

    def read() -> dict[str, object]:
        store = served.memory_if_any()
        corrections = served.conversations.library.corrections()
        report = read_report(store, timedelta(hours=hours), corrections)
        return report.as_dict() | {
            "memory": _stored(replies.StoredReply, store).model_dump(),
        }

    return JSONResponse(await archive_worker(request).run(read))


@router.get("/debug/stats", responses=documented(replies.StatsReply, 404, 422, 503))
async def stats(request: Request, workspace: WorkspaceQuery = None) -> Response:
    """Return how much is stored, and how the queries and the embedding are doing."""
    served = served_workspace(request, workspace)
    waiting = router_worker(request).waiting
    found = await archive_worker(request).run(lambda: _stats(served, waiting))
    return found.response()


@router.get("/debug/retrieval", responses=documented(replies.RetrievalReply, 400, 404, 422, 503))
async def retrieval(
    request: Request,
    q: QuestionQuery,
    conversation: ConversationIdQuery = None,
    scope: Annotated[Scope, Query(description="Where to look, as for `POST /query`.")] = "all",
    source_path: Annotated[str | None, Query(min_length=1, max_length=PATH_LIMIT)] = None,
    limit: Annotated[int, Query(ge=1, le=MOST_CHUNKS, description="Most hits.")] = DEFAULT_LIMIT,
    workspace: WorkspaceQuery = None,
) -> Response:
    """Show how a question would be read, rewritten and searched for; nothing is stored."""
    served = served_workspace(request, workspace)
    question = Question(
        q, session=conversation, source=source_path, scope=scope, limit=limit, answer=False
    )
    found = await router_worker(request).run(lambda: look(served.queries, question), patient=True)
    return found.response()


@router.get("/consent", responses=documented(replies.ConsentReply, 404, 422, 503))
async def consent(request: Request, workspace: WorkspaceQuery = None) -> Response:
    """Say whether a profile of the user may be kept, and what was done with it."""
    served = served_workspace(request, workspace)
    return await _consent(request, served)


@router.post("/consent", responses=documented(replies.ConsentReply, 400, 404, 409, 422, 503))
async def grant(request: Request, asked: GrantRequest) -> Response:
    """Note the user's consent to a profile, and what it is for."""
    served = served_workspace(request, asked.workspace)
    await archive_worker(request).run(lambda: served.consent(asked.purpose))
    return await _consent(request, served)


@router.delete("/consent", responses=documented(replies.ConsentReply, 404, 422, 503))
async def revoke(request: Request, workspace: WorkspaceQuery = None) -> Response:
    """Withdraw consent, and erase the profile with its bytes in every file."""
    served = served_workspace(request, workspace)
    await archive_worker(request).run(served.revoke_consent)
    return await _consent(request, served)


async def _consent(request: Request, served: ServedWorkspace) -> Response:
    found = await archive_worker(request).run(lambda: _consent_of(served.memory_if_any()))
    return found.response()


def _consent_of(store: MemoryStore | None) -> replies.ConsentReply:
    if store is None:
        return replies.ConsentReply.model_validate(Consent(given=False))
    given = replies.ConsentReply.model_validate(store.profile.consent())
    return given.model_copy(update={"events": store.profile.events()})


def _stored(kind: type[_Stored], store: MemoryStore | None) -> _Stored:
    """What the memory holds; zeros when there is none."""
    return kind.model_validate(store.stats()) if store else kind()


def _stats(served: ServedWorkspace, waiting: int) -> replies.StatsReply:
    held = served.queries.library.holdings()
    store = served.memory_if_any()
    memory = _stored(replies.MemoryStats, store)
    queries = replies.QueryStats.model_validate(served.queries.tally)
    embedding = replies.EmbeddingStats.model_validate(served.embedding)
    model = served.memory.settings.current().recall.embeddings
    return replies.StatsReply(
        memory=memory.model_copy(update={"enabled": served.memory.flags.enabled}),
        index_bytes=index_sizes(store.database) if store else {},
        consent=store.profile.consent().given if store else False,
        documents=replies.DocumentStats.model_validate(held) if held else replies.DocumentStats(),
        queries=queries.model_copy(update={"waiting": waiting}),
        embedding=embedding.model_copy(update={"model": model}),
    )


def look(service: QueryService, query: Question) -> replies.RetrievalReply:
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
    read = replies.QuestionRead.model_validate(question)
    return replies.RetrievalReply(
        query=found.query.text,
        rewritten_query=turn.expanded,
        rewritten_by=rewriting_of(turn).by,
        references=list(turn.references),
        why=list(turn.why),
        session_memory=list(reversed(found.known.terms)) if found.known else [],
        question=read.model_copy(update={"concepts": documents.concepts if documents else ()}),
        documents=[replies.DebugDocumentHit.model_validate(hit) for hit in found_documents],
        conversations=[replies.DebugHit.model_validate(hit) for hit in found_passages],
        weights=replies.WeightsReply.model_validate(service.memory.recall_settings),
        counts=dict(recall.counts) if recall else {},
        flags=dict(recall.flags) if recall else {},
        timings_ms={stage: round(ms, 3) for stage, ms in timings.items()},
        summaries=[summary.text for summary, _ in recall.summaries] if recall else [],
        budget_tokens=findings.budget_tokens,
        used_tokens=findings.used_tokens,
        notes=[*found.warnings, *findings.notes],
    )
