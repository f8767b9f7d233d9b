"""The memory's figures, a look inside, and the consent to a profile, over HTTP."""

from datetime import timedelta
from typing import Annotated

from fastapi import APIRouter, Query, Request
from starlette.responses import JSONResponse, Response

from kds.brain.clock import utc_now
from kds.brain.errors import MessageError
from kds.brain.memory.profile_values import Consent
from kds.brain.memory.store import MemoryStore
from kds.evaluation.metrics_report import report_metrics
from kds.query.values import DEFAULT_LIMIT, MOST_CHUNKS, Scope
from kds.query.values import Query as Question
from kds.service import memory_schemas as schemas
from kds.service.memory_schemas import ConversationIdQuery, HoursQuery, QuestionQuery
from kds.service.operation import (
    WorkspaceQuery,
    archive_worker,
    replies,
    router_worker,
    served_workspace,
)
from kds.service.retrieval_look import look
from kds.service.schemas import PATH_LIMIT
from kds.service.workspaces import ServedWorkspace

router = APIRouter(prefix="/api/memory", tags=["memory"])

WEEK_HOURS = 7 * 24
"""As far back as `kds metrics` looks."""


@router.get("/metrics", responses=replies(schemas.MetricsReply, 404, 422, 503))
async def metrics(
    request: Request, hours: HoursQuery = WEEK_HOURS, workspace: WorkspaceQuery = None
) -> Response:
    """Return what `kds metrics --json` prints, and how often the session memory was of use."""
    served = served_workspace(request, workspace)

    def read() -> dict[str, object]:
        until = utc_now()
        since = until - timedelta(hours=hours)
        store = served.memory_if_any()
        found = store.metrics.since(since) if store else ()
        stats = schemas.MemoryStats.of(store.stats() if store else None, enabled=True)
        return report_metrics(found, since=since, until=until).as_dict() | {
            "memory": stats.model_dump(include=set(schemas.StoredReply.model_fields)),
        }

    return JSONResponse(await archive_worker(request).run(read))


@router.get("/debug/stats", responses=replies(schemas.StatsReply, 404, 422, 503))
async def stats(request: Request, workspace: WorkspaceQuery = None) -> Response:
    """Return how much is stored, and how the queries and the embedding are doing."""
    served = served_workspace(request, workspace)
    waiting = router_worker(request).waiting
    found = await archive_worker(request).run(lambda: _stats(served, waiting))
    return JSONResponse(found.model_dump())


@router.get("/debug/retrieval", responses=replies(schemas.RetrievalReply, 400, 404, 422, 503))
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
    return JSONResponse(found.model_dump())


@router.get("/consent", responses=replies(schemas.ConsentReply, 404, 422, 503))
async def consent(request: Request, workspace: WorkspaceQuery = None) -> Response:
    """Say whether a profile of the user may be kept, and what was done with it."""
    served = served_workspace(request, workspace)
    return await _consent(request, served)


@router.post("/consent", responses=replies(schemas.ConsentReply, 400, 404, 409, 422, 503))
async def grant(request: Request, asked: schemas.GrantRequest) -> Response:
    """Note the user's consent to a profile, and what it is for."""
    served = served_workspace(request, asked.workspace)
    if not asked.purpose.strip():
        raise MessageError(
            "consent needs a purpose", where="purpose", hint="say what the profile is for"
        )
    await archive_worker(request).run(
        lambda: served.memory_for_writing().profile.grant(asked.purpose)
    )
    return await _consent(request, served)


@router.delete("/consent", responses=replies(schemas.ConsentReply, 404, 422, 503))
async def revoke(request: Request, workspace: WorkspaceQuery = None) -> Response:
    """Withdraw consent, and erase the profile with its bytes in every file."""
    served = served_workspace(request, workspace)

    def erase() -> None:
        if (store := served.memory_if_any()) is not None:
            store.profile.revoke()

    await archive_worker(request).run(erase)
    return await _consent(request, served)


async def _consent(request: Request, served: ServedWorkspace) -> Response:
    found = await archive_worker(request).run(lambda: _consent_of(served.memory_if_any()))
    return JSONResponse(found.model_dump())


def _consent_of(store: MemoryStore | None) -> schemas.ConsentReply:
    if store is None:
        return schemas.ConsentReply.of(Consent(given=False), ())
    return schemas.ConsentReply.of(store.profile.consent(), store.profile.events())


def _stats(served: ServedWorkspace, waiting: int) -> schemas.StatsReply:
    store = served.memory_if_any()
    tally, held = served.queries.tally, served.queries.library.holdings()
    return schemas.StatsReply(
        memory=schemas.MemoryStats.of(
            store.stats() if store else None, enabled=served.memory.flags.enabled
        ),
        documents=schemas.DocumentStats(
            documents=held.documents if held else 0,
            sections=held.sections if held else 0,
            chunks=held.chunks if held else 0,
            tokens=held.tokens if held else 0,
            size_bytes=held.size_bytes if held else 0,
        ),
        queries=schemas.QueryStats(
            count=tally.count,
            answered=tally.answered,
            answer_errors=tally.answer_errors,
            waiting=waiting,
            p50_ms=tally.p50_ms,
            p95_ms=tally.p95_ms,
        ),
        embedding=schemas.EmbeddingStats(
            model=served.memory.settings.current().recall.embeddings,
            embedded=served.embedding.embedded,
            failures=served.embedding.failures,
            last_error=served.embedding.last_error,
        ),
    )
