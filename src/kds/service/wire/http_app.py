"""The HTTP side of the service: what may be asked, documented in /openapi.json.

There is no /docs: the page would load its scripts from a content network, and KDS talks to
nobody. Routing runs on the worker's thread; the event loop only reads and writes.
"""

from typing import Annotated, Final

from fastapi import APIRouter, FastAPI, Request
from fastapi import Path as PathParameter
from starlette.responses import JSONResponse, Response

from kds.brain.context.journal import LoadedContext
from kds.brain.errors import DispatchError
from kds.brain.installation import kds_version
from kds.brain.wire import entry_to_wire, to_wire
from kds.service.routed import routed
from kds.service.wire import (
    hook_api,
    memory_api,
    query_api,
    replies,
    schemas,
    sessions_api,
    web_api,
)
from kds.service.wire.errors import NotServedError, add_error_handlers
from kds.service.wire.health import Vitals
from kds.service.wire.operation import (
    ConversationQuery,
    WorkspaceQuery,
    documented,
    router_worker,
    served_workspace,
)
from kds.service.worker import Worker
from kds.service.workspaces import Workspaces

DESCRIPTION: Final = """\
Routes developer chat of one machine's user: resolves what a message refers to, finds its intent,
and picks the agent's prompt; answers questions about documents and remembered conversations.
Over the unix socket in `kds-brain/` no token is asked for; over loopback TCP every request needs
`Authorization: Bearer` with the content of `kds-brain/service.token`.
"""

PromptName = Annotated[
    str,
    PathParameter(
        max_length=schemas.TEXT_LIMIT,
        description="Name of a prompt.",
        examples=["work-planner"],
    ),
]


router = APIRouter()


def make_app(
    workspaces: Workspaces,
    worker: Worker,
    vitals: Vitals | None = None,
    *,
    archivist: Worker | None = None,
) -> FastAPI:
    """Build the application over loaded workspaces. The caller closes the workers.

    ``archivist`` looks after sessions, off the router's thread; without one, ``worker`` does.
    """
    app = FastAPI(
        title="KDS service",
        version=kds_version(),
        description=DESCRIPTION,
        docs_url=None,
        redoc_url=None,
    )
    app.state.workspaces = workspaces
    app.state.worker = worker
    app.state.archivist = archivist or worker
    app.state.vitals = vitals or Vitals()
    app.state.doubles = hook_api.Doubles()
    app.state.site = None
    add_error_handlers(app)
    for room in (router, hook_api.router, query_api.router, sessions_api.router,
                 memory_api.router, web_api.router):  # fmt: skip
        app.include_router(room)
    return app


@router.get("/healthz", responses=documented(replies.HealthReply))
async def healthz(request: Request) -> Response:
    """Tell how the service is: its process, its workspaces, and whether a reload failed."""
    vitals: Vitals = request.app.state.vitals
    return vitals.report(request.app.state.workspaces).response()


@router.post("/route", responses=documented(replies.TurnReply, 400, 404, 409, 422, 503))
async def route(request: Request, asked: schemas.RouteRequest) -> Response:
    """Route a message: what it refers to, its intent, and the agent's prompt, filled in."""
    served = served_workspace(request, asked.workspace)
    turn = await routed(served, router_worker(request), asked)
    return JSONResponse({**to_wire(turn), "warnings": list(served.warnings)})


@router.get("/context", responses=documented(replies.ContextReply, 400, 404, 422, 503))
async def load_context(
    request: Request, conversation: ConversationQuery = None, workspace: WorkspaceQuery = None
) -> Response:
    """Return what a conversation remembers, oldest first."""
    conversations = served_workspace(request, workspace).conversations
    return _context(
        await router_worker(request).run(lambda: conversations.journal(conversation).load())
    )


@router.post("/context", responses=documented(replies.ContextReply, 400, 404, 422, 503))
async def log_context(request: Request, asked: schemas.ContextRequest) -> Response:
    """Remember a message as it stands, with secrets taken out, and return the context."""
    served = served_workspace(request, asked.workspace)
    entry = served.entry(
        asked.message, asked.intent, context_ref=asked.context_ref, session_id=asked.session_id
    )
    journal = served.conversations.journal(asked.conversation)
    return _context(await router_worker(request).run(lambda: journal.log(entry)))


@router.delete("/context", responses=documented(replies.ClearedReply, 400, 404, 422, 503))
async def clear_context(
    request: Request, conversation: ConversationQuery = None, workspace: WorkspaceQuery = None
) -> Response:
    """Forget a conversation, and tell how many entries it had."""
    conversations = served_workspace(request, workspace).conversations
    count = await router_worker(request).run(lambda: conversations.clear(conversation))
    return replies.ClearedReply(cleared=count).response()


@router.get("/prompts", responses=documented(list[replies.PromptReply], 404, 422))
async def list_prompts(request: Request, workspace: WorkspaceQuery = None) -> Response:
    """List the prompts of a workspace: the packaged ones, and its own laid over them."""
    library = served_workspace(request, workspace).conversations.library
    return JSONResponse(
        [replies.PromptReply.model_validate(prompt).model_dump() for prompt in library.prompts()]
    )


@router.get("/prompts/{name}", responses=documented(replies.PromptBodyReply, 404, 422))
async def show_prompt(
    request: Request, name: PromptName, workspace: WorkspaceQuery = None
) -> Response:
    """Return one prompt with its template."""
    library = served_workspace(request, workspace).conversations.library
    try:
        prompt = library.get(name)
    except DispatchError as error:
        raise NotServedError(error.message, where=error.where, hint=error.hint) from error
    return replies.PromptBodyReply.model_validate(prompt).response()


def _context(loaded: LoadedContext) -> Response:
    entries = [entry_to_wire(entry) for entry in loaded.entries]
    return JSONResponse({"entries": entries, "warnings": list(loaded.warnings)})
