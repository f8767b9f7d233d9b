"""`POST /query`: rewriting, retrieval, and an answer where a model is there to give one.

Rewriting and retrieval run on the router's thread, behind whatever a hook or a command asks;
a model takes its time elsewhere, and never longer than it has.
"""

from fastapi import APIRouter, Request
from starlette.responses import JSONResponse, Response

from kds.query.service import QueryService
from kds.query.understood import Understood
from kds.query.values import Query
from kds.service.operation import replies, router_worker, served_workspace
from kds.service.query_schemas import EXAMPLE_REPLY, QueryReplyBody, QueryRequest

router = APIRouter(tags=["query"])


@router.post("/query", responses=replies(QueryReplyBody, 400, 404, 422, 503) | {
    200: {
        "description": "Done.",
        "model": QueryReplyBody,
        "content": {"application/json": {"example": EXAMPLE_REPLY}},
    }
})  # fmt: skip
async def ask(request: Request, asked: QueryRequest) -> Response:
    """Answer a question about documents and remembered conversations.

    The passages come back whether or not a model answers. A session is remembered; without
    `session_id` nothing is stored, whatever is sent.
    """
    service = served_workspace(request, asked.workspace).queries
    query, worker = asked.query_value(), router_worker(request)
    found = await worker.run(lambda: _found(service, query), patient=True)
    if found.may_be_rewritten:
        read = await service.arewrite(found)
        found = await worker.run(lambda: service.search(read), patient=True)
    spoken = await service.aanswer(found)
    reply = await worker.run(lambda: service.finish(found, spoken), patient=True)
    return JSONResponse(reply.as_dict())


def _found(service: QueryService, query: Query) -> Understood:
    """What was found; only understood, when a model is to be asked what the question means."""
    read = service.understand(query)
    return read if read.may_be_rewritten else service.search(read)
