"""The HTTP side of the service: what may be asked, documented in /openapi.json.

There is no /docs: the page would load its scripts from a content network, and KDS talks to
nobody. Routing runs on the worker's thread; the event loop only reads and writes.
"""

import importlib.metadata
from collections.abc import Mapping
from typing import Annotated, Any, Final

from fastapi import FastAPI, Query, Request
from fastapi import Path as PathParameter
from starlette.responses import JSONResponse, Response

from kds.brain.errors import DispatchError
from kds.brain.journal import LoadedContext
from kds.brain.wire import entry_to_wire, to_wire
from kds.conversations import NAME_LIMIT
from kds.router.promptfile import PromptFile
from kds.service import schemas
from kds.service.errors import NotServedError, TooLargeError, add_error_handlers
from kds.service.health import Vitals
from kds.service.hook_reply import hook_output, read_hook
from kds.service.security import WORKSPACE
from kds.service.worker import Worker
from kds.service.workspaces import ServedWorkspace, Workspaces

DESCRIPTION: Final = """\
Routes developer chat of one machine's user: resolves what a message refers to, finds its intent,
and picks the agent's prompt. Over the unix socket in `kds-brain/` no token is asked for; over
loopback TCP every request needs `Authorization: Bearer` with the content of
`kds-brain/service.token`.
"""

_ERRORS: Final[Mapping[int, str]] = {
    400: "The message, name or body cannot be used.",
    401: "No valid token (loopback TCP only).",
    403: "`Host` or `Origin` is not this machine (loopback TCP only).",
    404: "No such workspace or prompt.",
    413: "The body or the message is too large.",
    422: "The body or a parameter is not of the schema.",
    500: "The service's own trouble: a full disk, a fault in KDS.",
    503: "Too many requests are waiting, or the service is stopping.",
}
_ANYWHERE: Final = (401, 403, 413, 500)
"""What the layers in front of the app may answer to any request."""

ConversationQuery = Annotated[
    str | None,
    Query(
        min_length=1,
        max_length=NAME_LIMIT,
        description="Whose context; without it, that of the workspace.",
    ),
]
WorkspaceQuery = Annotated[
    str | None,
    Query(
        min_length=1,
        max_length=schemas.PATH_LIMIT,
        description="Root of a served workspace; without it, that of the socket or token.",
    ),
]
PromptName = Annotated[
    str,
    PathParameter(
        max_length=schemas.TEXT_LIMIT,
        description="Name of a prompt.",
        examples=["work-planner"],
    ),
]


def make_app(workspaces: Workspaces, worker: Worker, vitals: Vitals | None = None) -> FastAPI:
    """Build the application over loaded workspaces. The caller closes the worker."""
    app = FastAPI(
        title="KDS service",
        version=importlib.metadata.version("kds"),
        description=DESCRIPTION,
        docs_url=None,
        redoc_url=None,
    )
    app.state.workspaces = workspaces
    app.state.worker = worker
    app.state.vitals = vitals or Vitals()
    add_error_handlers(app)
    _add_routes(app)
    return app


def _add_routes(app: FastAPI) -> None:
    app.add_api_route("/healthz", healthz, responses=_replies(schemas.HealthReply))
    app.add_api_route(
        "/route",
        route,
        methods=["POST"],
        responses=_replies(schemas.TurnReply, 400, 404, 422, 503),
    )
    context = _replies(schemas.ContextReply, 400, 404, 422, 503)
    app.add_api_route("/context", load_context, responses=context)
    app.add_api_route("/context", log_context, methods=["POST"], responses=context)
    app.add_api_route(
        "/context",
        clear_context,
        methods=["DELETE"],
        responses=_replies(schemas.ClearedReply, 400, 404, 422, 503),
    )
    app.add_api_route(
        "/prompts", list_prompts, responses=_replies(list[schemas.PromptReply], 404, 422)
    )
    app.add_api_route(
        "/prompts/{name}",
        show_prompt,
        responses=_replies(schemas.PromptBodyReply, 404, 422),
    )
    app.add_api_route(
        "/hook",
        hook,
        methods=["POST"],
        responses=_replies(schemas.HookReply, 400, 404, 503)
        | {204: {"description": "Nothing to add to the prompt."}},
        openapi_extra=schemas.HOOK_INPUT,
    )


async def healthz(request: Request) -> Response:
    """Tell how the service is: its process, its workspaces, and whether a reload failed."""
    vitals: Vitals = request.app.state.vitals
    return JSONResponse(vitals.report(request.app.state.workspaces))


async def route(request: Request, asked: schemas.RouteRequest) -> Response:
    """Route a message: what it refers to, its intent, and the agent's prompt, filled in."""
    served = _served(request, asked.workspace)
    turn = await _worker(request).run(
        lambda: served.route(
            asked.message, conversation=asked.conversation, join=asked.join, log=asked.log
        )
    )
    return JSONResponse({**to_wire(turn), "warnings": list(served.warnings)})


async def load_context(
    request: Request, conversation: ConversationQuery = None, workspace: WorkspaceQuery = None
) -> Response:
    """Return what a conversation remembers, oldest first."""
    conversations = _served(request, workspace).conversations
    return _context(await _worker(request).run(lambda: conversations.journal(conversation).load()))


async def log_context(request: Request, asked: schemas.ContextRequest) -> Response:
    """Remember a message as it stands, with secrets taken out, and return the context."""
    served = _served(request, asked.workspace)
    entry = served.entry(
        asked.message, asked.intent, context_ref=asked.context_ref, session_id=asked.session_id
    )
    journal = served.conversations.journal(asked.conversation)
    return _context(await _worker(request).run(lambda: journal.log(entry)))


async def clear_context(
    request: Request, conversation: ConversationQuery = None, workspace: WorkspaceQuery = None
) -> Response:
    """Forget a conversation, and tell how many entries it had."""
    conversations = _served(request, workspace).conversations
    count = await _worker(request).run(lambda: conversations.clear(conversation))
    return JSONResponse({"cleared": count})


async def list_prompts(request: Request, workspace: WorkspaceQuery = None) -> Response:
    """List the prompts of a workspace: the packaged ones, and its own laid over them."""
    library = _served(request, workspace).conversations.library
    return JSONResponse([_prompt(prompt) for prompt in library.prompts()])


async def show_prompt(
    request: Request, name: PromptName, workspace: WorkspaceQuery = None
) -> Response:
    """Return one prompt with its template."""
    library = _served(request, workspace).conversations.library
    try:
        prompt = library.get(name)
    except DispatchError as error:
        raise NotServedError(error.message, where=error.where, hint=error.hint) from error
    return JSONResponse({**_prompt(prompt), "body": prompt.body})


async def hook(request: Request) -> Response:
    """Answer the prompt hook of Claude Code or Copilot: what to add to the user's prompt."""
    served = _served(request, None)
    call = read_hook(await request.body())
    if not call.for_routing:
        return Response(status_code=204)
    if len(call.prompt) > schemas.MESSAGE_LIMIT:
        raise TooLargeError(
            f"the prompt is longer than {schemas.MESSAGE_LIMIT:,} characters", where="prompt"
        )
    turn = await _worker(request).run(
        lambda: served.route(call.prompt, conversation=call.session, join=True, log=not call.probe)
    )
    output = hook_output(turn)
    return Response(status_code=204) if output is None else JSONResponse(output)


def _served(request: Request, root: str | None) -> ServedWorkspace:
    workspaces: Workspaces = request.app.state.workspaces
    return workspaces.find(root, default=request.scope.get(WORKSPACE))


def _worker(request: Request) -> Worker:
    worker: Worker = request.app.state.worker
    return worker


def _context(loaded: LoadedContext) -> Response:
    entries = [entry_to_wire(entry) for entry in loaded.entries]
    return JSONResponse({"entries": entries, "warnings": list(loaded.warnings)})


def _prompt(prompt: PromptFile) -> dict[str, object]:
    return {
        "name": prompt.name,
        "description": prompt.description,
        "intent": prompt.intent,
        "ref": prompt.ref,
    }


def _replies(model: Any, *statuses: int) -> dict[int | str, dict[str, Any]]:
    """The documentation of an operation's replies: the good one, and every error it may have."""
    errors: dict[int | str, dict[str, Any]] = {
        status: {"model": schemas.ErrorReply, "description": _ERRORS[status]}
        for status in sorted({*statuses, *_ANYWHERE})
    }
    return {200: {"model": model, "description": "Done."}, **errors}
