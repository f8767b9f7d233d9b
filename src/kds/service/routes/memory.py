"""The memory over HTTP: figures, a look inside, and the consent to a profile."""

from dataclasses import asdict
from datetime import timedelta
from typing import Annotated, Any, Final

from fastapi import APIRouter, Query
from fastapi.encoders import jsonable_encoder
from pydantic import Field
from starlette.responses import JSONResponse, Response

from kds.api.embeddings import model_name
from kds.brain.clock import utc_now
from kds.brain.memory.profile import PURPOSE_LIMIT
from kds.brain.memory.records import Consent
from kds.brain.memory.sessions import ID_LIMIT
from kds.brain.message import MESSAGE_LIMIT
from kds.brain.passages.question import read_question
from kds.brain.passages.recall import DOCUMENT_BIAS
from kds.brain.store.maintenance import index_sizes
from kds.brain.turn import plain
from kds.query.service import QueryService, rewriting_of
from kds.query.values import DEFAULT_LIMIT, MOST_CHUNKS, Scope
from kds.query.values import Query as Question
from kds.service.models import JSON, PATH_LIMIT, RequestBody
from kds.service.requests import Served, on_archivist
from kds.service.workspaces import ServedWorkspace
from kds.testing.metrics import read_report

router = APIRouter(prefix="/api/memory", tags=["memory"])

WEEK_HOURS: Final = 7 * 24
"""As far back as `kds metrics` looks."""

MOST_HOURS: Final = 30 * 24
"""As long as measurements are kept."""

STORED: Final = ("sessions", "messages", "tokens", "size_bytes")
READ: Final = ("words", "identifiers", "period", "asks_when", "asks_for_code")
HELD: Final = ("documents", "sections", "chunks", "tokens", "size_bytes")

HoursQuery = Annotated[int, Query(ge=1, le=MOST_HOURS)]
QuestionQuery = Annotated[str, Query(min_length=1, max_length=MESSAGE_LIMIT)]
ConversationIdQuery = Annotated[
    str | None, Query(alias="conversationId", min_length=1, max_length=ID_LIMIT)
]


class GrantRequest(RequestBody):
    """Consent to a profile: for what it may be kept and used."""

    purpose: str = Field(min_length=1, max_length=PURPOSE_LIMIT)


@router.get("/metrics", response_model=JSON)
@on_archivist
def metrics(served: Served, hours: HoursQuery = WEEK_HOURS) -> Response:
    """Return what `kds metrics --json` prints, and how often the session memory was of use."""
    store = served.memory_if_any()
    corrections = served.conversations.library.corrections()
    report = read_report(store, timedelta(hours=hours), corrections)
    stored = _numbers(store.stats() if store else None, *STORED)
    return JSONResponse(report.as_dict() | {"memory": stored})


@router.get("/debug/stats", response_model=JSON)
@on_archivist
def stats(served: Served) -> Response:
    """Return how much is stored, and how the queries and the embedding are doing."""
    store = served.memory_if_any()
    held = store.stats() if store else None
    model = model_name(served.memory.config.settings.recall.embeddings)
    return JSONResponse(
        {
            "memory": {
                **_numbers(held, *STORED, "chunks", "summaries"),
                "enabled": served.memory.flags.enabled,
                "models": plain(held.models) if held else [],
            },
            "index_bytes": index_sizes(store.database) if store else {},
            "consent": store.profile.consent().given if store else False,
            "documents": _numbers(served.queries.library.holdings(), *HELD),
            "queries": {"waiting": served.worker.waiting},
            "embedding": {"model": model, **asdict(served.embedding)},
        }
    )


@router.get("/debug/retrieval", response_model=JSON)
async def retrieval(
    served: Served,
    q: QuestionQuery,
    conversation: ConversationIdQuery = None,
    scope: Scope = "all",
    source_path: Annotated[str | None, Query(min_length=1, max_length=PATH_LIMIT)] = None,
    limit: Annotated[int, Query(ge=1, le=MOST_CHUNKS)] = DEFAULT_LIMIT,
) -> Response:
    """Show how a question would be read, rewritten and searched for; nothing is stored."""
    question = Question(
        q, session=conversation, source=source_path, scope=scope, limit=limit, answer=False
    )
    found = await served.worker.run(lambda: look(served.queries, question), patient=True)
    return JSONResponse(jsonable_encoder(plain(found, digits=4)))


@router.get("/consent")
@on_archivist
def consent(served: Served) -> dict[str, Any]:
    """Say whether a profile of the user may be kept, since when, and what was done with it."""
    return _consent_of(served)


@router.post("/consent")
@on_archivist
def grant(served: Served, asked: GrantRequest) -> dict[str, Any]:
    """Note the user's consent to a profile, and what it is for."""
    served.memory_for_writing().profile.grant(asked.purpose)
    return _consent_of(served)


@router.delete("/consent")
@on_archivist
def revoke(served: Served) -> dict[str, Any]:
    """Withdraw consent, and erase the profile with its bytes in every file."""
    if (store := served.memory_if_any()) is not None:
        store.profile.revoke()
    return _consent_of(served)


def _consent_of(served: ServedWorkspace) -> dict[str, Any]:
    store = served.memory_if_any()
    given = store.profile.consent() if store else Consent(given=False)
    return {**asdict(given), "events": store.profile.events() if store else ()}


def look(service: QueryService, query: Question) -> dict[str, Any]:
    """Understand and search as `POST /query` does, and tell everything. Nothing is stored."""
    found = service.search(service.understand(query, remembers=False))  # and asks no model
    turn, findings = found.turn, found.findings
    recall, documents = findings.conversations, findings.documents
    question = recall.question if recall else read_question(turn.expanded, now=utc_now())
    parts = (("", found), ("memory.", recall), ("documents.", documents))
    return {
        "query": found.query.text,
        "rewritten_query": turn.expanded,
        "rewritten_by": rewriting_of(turn).by,
        "references": turn.references,
        "why": turn.why,
        "session_memory": list(reversed(found.known.terms)) if found.known else [],
        "question": {name: getattr(question, name) for name in READ},
        "documents": documents.hits if documents else (),
        "conversations": recall.hits if recall else (),
        "weights": service.memory.recall_settings.weights,
        "document_bias": DOCUMENT_BIAS,
        "counts": recall.counts if recall else {},
        "flags": recall.flags if recall else {},
        "timings_ms": {
            f"{stage}{name}": ms
            for stage, part in parts
            for name, ms in (part.timings_ms if part else {}).items()
        },
        "summaries": [summary.text for summary, _ in recall.summaries] if recall else [],
        "budget_tokens": findings.budget_tokens,
        "used_tokens": findings.used_tokens,
        "notes": [*found.warnings, *findings.notes],
    }


def _numbers(value: object, *names: str) -> dict[str, Any]:
    """Fields of a value by name; zeros when there is none."""
    return {name: 0 if value is None else getattr(value, name) for name in names}
