"""`POST /query`: rewriting, retrieval, and an answer where a model is there to give one.

Rewriting and retrieval run on the thread that routes; a model takes its time elsewhere, and never
longer than it has.
"""

from typing import Annotated, Any, Final

from fastapi import APIRouter
from fastapi import Query as Parameter
from fastapi.encoders import jsonable_encoder
from pydantic import Field
from starlette.responses import JSONResponse, Response

from kds.brain.clock import utc_now
from kds.brain.memory.sessions import ID_LIMIT
from kds.brain.message import MESSAGE_LIMIT
from kds.brain.passages.question import read_question
from kds.brain.passages.recall import DOCUMENT_BIAS, weights_set
from kds.brain.turn import plain
from kds.query.service import QueryService
from kds.query.values import DEFAULT_LIMIT, MOST_CHUNKS, Query, QueryReply, Scope
from kds.service.requests import (
    JSON,
    PATH_LIMIT,
    MessageText,
    RequestBody,
    Served,
    UtteranceRequest,
)
from kds.service.workspaces import ServedWorkspace
from kds.transit.history import Message

MOST_MESSAGES: Final = 1000
"""Messages of a context. Ten turns count; a client that sends its whole history is not refused."""

READ: Final = ("words", "identifiers", "period", "asks_for_code")
"""What is told of how a question was read."""


class QueryRequest(RequestBody):
    """A question. Only ``query`` is needed."""

    text: MessageText = Field(alias="query")
    context: list[UtteranceRequest] | None = Field(
        None, max_length=MOST_MESSAGES, alias="conversation_context"
    )
    """What was said before, oldest first: the last ten turns, of each reply 500 characters."""
    session: str | None = Field(None, min_length=1, max_length=ID_LIMIT, alias="session_id")
    """A stored session: it stands in for a context that is not sent, and remembers the question."""
    source: str | None = Field(None, min_length=1, max_length=PATH_LIMIT, alias="source_path")
    """The document that the user looks at: its passages count 15 % more."""
    scope: Scope = "all"
    """Where to look; `document` is that of `source_path`, `conversation` that of `session_id`."""
    limit: int = Field(DEFAULT_LIMIT, ge=1, le=MOST_CHUNKS)
    answer: bool = True
    """Let a model answer from the passages, where one is configured."""


router = APIRouter()


@router.post("/query", response_model=QueryReply, tags=["query"])
async def ask(served: Served, asked: QueryRequest) -> Response:
    """Answer a question about documents and remembered conversations.

    The passages come back whether or not a model answers. A session is remembered; without
    `session_id` nothing is stored, whatever is sent.
    """
    said = None
    if asked.context is not None:
        said = tuple(Message(one.role, one.content) for one in asked.context)
    reply = await answered(served, Query(**{**dict(asked), "context": said}))
    return JSONResponse(reply.as_dict())


@router.get("/api/memory/debug/retrieval", response_model=JSON, tags=["memory"])
async def retrieval(
    served: Served,
    q: Annotated[str, Parameter(min_length=1, max_length=MESSAGE_LIMIT)],
    conversation: Annotated[
        str | None, Parameter(alias="conversationId", min_length=1, max_length=ID_LIMIT)
    ] = None,
    scope: Scope = "all",
    source_path: Annotated[str | None, Parameter(min_length=1, max_length=PATH_LIMIT)] = None,
    limit: Annotated[int, Parameter(ge=1, le=MOST_CHUNKS)] = DEFAULT_LIMIT,
) -> Response:
    """Show how a question would be read, rewritten and searched for; nothing is stored."""
    question = Query(
        q, session=conversation, source=source_path, scope=scope, limit=limit, answer=False
    )
    found = await served.worker.run(lambda: look(served.queries, question))
    return JSONResponse(jsonable_encoder(plain(found, digits=4)))


async def answered(served: ServedWorkspace, query: Query) -> QueryReply:
    """Do all that is to be done for a question, as `QueryService.answered` does."""
    await served.worker.run(served.look_at_all)
    return await served.queries.answered(query, served.worker.run)


def look(service: QueryService, query: Query) -> dict[str, Any]:
    """Understand and search as `POST /query` does, and tell everything. Nothing is stored."""
    found = service.search(service.understand(query, remembers=False))  # and asks no model
    turn, recall, documents = found.turn, found.conversations, found.documents
    question = recall.question if recall else read_question(turn.expanded, now=utc_now())
    parts = (("", found), ("memory.", recall), ("documents.", documents))
    return {
        "query": found.query.text,
        "rewritten_query": turn.expanded,
        "rewritten_by": found.rewriting.by,
        "references": turn.references,
        "why": turn.why,
        "session_memory": list(reversed(found.known.terms)) if found.known else [],
        "question": {name: getattr(question, name) for name in READ},
        "documents": documents.hits if documents else (),
        "conversations": recall.hits if recall else (),
        "weights": weights_set(service.memory.config.settings.recall),
        "document_bias": DOCUMENT_BIAS,
        "counts": recall.counts if recall else {},
        "flags": recall.flags if recall else {},
        "timings_ms": {
            f"{stage}{name}": ms
            for stage, part in parts
            for name, ms in (part.timings_ms if part else {}).items()
        },
        "summaries": [summary.text for summary, _ in recall.summaries] if recall else [],
        "budget_tokens": found.budget_tokens,
        "used_tokens": found.used_tokens,
        "notes": list(found.warnings),
    }
