"""`POST /query`: rewriting, retrieval, and an answer where a model is there to give one.

Rewriting and retrieval run on the router's thread, behind whatever a hook or a command asks;
a model takes its time elsewhere, and never longer than it has.
"""

from typing import Final

from fastapi import APIRouter
from pydantic import Field
from starlette.responses import JSONResponse, Response

from kds.brain.memory.sessions import ID_LIMIT
from kds.query.service import Understood
from kds.query.values import DEFAULT_LIMIT, MOST_CHUNKS, Query, QueryReply, Scope
from kds.service.models import PATH_LIMIT, MessageText, RequestBody, UtteranceRequest
from kds.service.requests import Served
from kds.service.workspaces import ServedWorkspace
from kds.transit.history import Message

MOST_MESSAGES: Final = 1000
"""Messages of a context. Ten turns count; a client that sends its whole history is not refused."""


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


router = APIRouter(tags=["query"])


@router.post("/query", response_model=QueryReply)
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


async def answered(served: ServedWorkspace, query: Query) -> QueryReply:
    """Do all that is to be done for a question; a model holds up only its own question.

    Raises MessageError, as `QueryService.ask` does.
    """
    worker, service = served.worker, served.queries
    found = await worker.run(lambda: _found(served, query), patient=True)
    if found.may_be_rewritten:
        read = await service.rewrite(found)
        found = await worker.run(lambda: service.search(read), patient=True)
    answered = await service.answer(found)
    return await worker.run(lambda: service.finish(answered), patient=True)


def _found(served: ServedWorkspace, query: Query) -> Understood:
    """What was found; only understood, when a model is to be asked what the question means."""
    served.look_at_all()
    read = served.queries.understand(query)
    return read if read.may_be_rewritten else served.queries.search(read)
