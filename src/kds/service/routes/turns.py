"""Routing a message, the context, the prompts, the health, and opening the web page."""

from typing import Annotated, Any, Final

from fastapi import APIRouter, Request
from fastapi import Path as PathParameter
from pydantic import BeforeValidator, Field
from starlette.responses import JSONResponse, Response

from kds.brain.context.journal import LoadedContext
from kds.brain.errors import DispatchError
from kds.brain.turn import (
    Action,
    IntentScore,
    Outcome,
    Reference,
    StepRecord,
    entry_to_wire,
    to_wire,
)
from kds.service.callers import routed
from kds.service.errors import ConflictError, NotServedError
from kds.service.listening import SiteHost
from kds.service.models import (
    CONVERSATION,
    MESSAGE,
    TEXT_LIMIT,
    EntryReply,
    Reply,
    RequestBody,
    RouteRequest,
    whole,
)
from kds.service.operation import (
    ConversationQuery,
    Served,
    documented,
    named_root,
)
from kds.service.telemetry import HealthReply, Vitals
from kds.service.workspaces import Workspaces

MOST_PORT: Final = 65_535

PromptName = Annotated[
    str,
    PathParameter(
        max_length=TEXT_LIMIT, description="Name of a prompt.", examples=["work-planner"]
    ),
]


class ContextRequest(RequestBody):
    """One message to remember as it stands."""

    message: str = MESSAGE
    intent: str = Field(
        min_length=1,
        max_length=TEXT_LIMIT,
        description="The intent of one of the agents.",
        examples=["EXECUTE"],
    )
    context_ref: str | None = Field(
        default=None,
        max_length=TEXT_LIMIT,
        description="What the message refers to.",
        examples=["FAB button"],
    )
    session_id: str | None = Field(
        default=None,
        max_length=TEXT_LIMIT,
        description="The session it belongs to.",
        examples=["fab-button-20251103"],
    )
    conversation: str | None = CONVERSATION


class WebRequest(RequestBody):
    """Where the page is to be."""

    port: Annotated[int, Field(ge=1, le=MOST_PORT), BeforeValidator(whole)] | None = Field(
        default=None, description="null: any free one, or where it is already."
    )


class WebReply(Reply):
    """Where the page is."""

    url: str
    login: str
    """A link that lets one browser in, once, within a few minutes."""


class ContextReply(Reply):
    """A conversation context, oldest first: at most ten entries, none older than two hours."""

    entries: list[EntryReply]
    warnings: list[str]


class ClearedReply(Reply):
    """How many entries were forgotten."""

    cleared: int


class TurnRewritingReply(Reply):
    """That a model was asked to rewrite the message (docs/rewriting.md)."""

    model: str
    outcome: Outcome
    reason: str | None
    cached: bool
    ms: float


class TurnReply(Reply):
    """What became of a message."""

    message: str
    expanded: str
    """The message, so that it can be read on its own."""
    intent: str
    confidence: float
    action: Action
    secondary_intents: list[str]
    alternatives: list[IntentScore]
    question: str | None
    """What to ask the user when the action is `clarify`."""
    candidates: list[str]
    context_ref: str | None
    references: list[Reference]
    context_switch: bool
    session_id: str | None
    agent: str | None
    prompt_file: str | None
    prompt: str
    """The agent's prompt, filled in."""
    noted: str | None
    """What was noted of the intent of an earlier message that this one corrects."""
    notice: str | None
    """Set for a message in another language, which is passed on as it is."""
    why: list[str]
    at: str
    """When the message came: ISO 8601, UTC."""
    in_scope: float
    context: list[EntryReply]
    unresolved: list[str]
    """Words that point back to something unknown."""
    rewriting: TurnRewritingReply | None
    """null: no model was asked."""
    records: list[StepRecord]
    warnings: list[str]
    """Such as prompts that are broken at the moment."""


class PromptReply(Reply):
    """A prompt file, in short."""

    name: str
    description: str
    intent: str | None
    ref: str
    ask: str | None
    """What it does, as a question names it: "plan something new"."""
    handoffs: tuple[str, ...]
    """Intents that its work may be handed on to."""
    confirm: bool
    """It asks before it acts."""
    tools: tuple[str, ...]
    """Names of tools that a model may call on its behalf."""


class PromptBodyReply(PromptReply):
    """A prompt file with its template."""

    body: str


router = APIRouter()


@router.get("/healthz", responses=documented(HealthReply))
async def healthz(request: Request) -> Response:
    """Tell how the service is: its process, the open workspaces, and whether a reload failed.

    Opens none. `status` is that of the named workspace, of all where none is named.
    """
    vitals: Vitals = request.app.state.vitals
    workspaces: Workspaces = request.app.state.workspaces
    return vitals.report(workspaces, named=named_root(request)).response()


@router.post("/open", responses=documented(HealthReply, 400, 404, 503))
async def open_workspace(request: Request, served: Served) -> Response:
    """Open the named workspace, which takes a second, and tell how the service is."""
    return await healthz(request)


@router.post("/route", responses=documented(TurnReply, 400, 404, 409, 422, 503))
async def route(served: Served, asked: RouteRequest) -> Response:
    """Route a message: what it refers to, its intent, and the agent's prompt, filled in."""
    turn = await routed(served, asked)
    return JSONResponse({**to_wire(turn), "warnings": list(served.warnings)})


@router.get("/context", responses=documented(ContextReply, 400, 404, 422, 503))
async def load_context(served: Served, conversation: ConversationQuery = None) -> Response:
    """Return what a conversation remembers, oldest first."""
    read = served.worker.run(lambda: served.conversations.journal(conversation).load())
    return _context(await read)


@router.post("/context", responses=documented(ContextReply, 400, 404, 422, 503))
async def log_context(served: Served, asked: ContextRequest) -> Response:
    """Remember a message as it stands, with secrets taken out, and return the context."""
    entry = served.entry(
        asked.message, asked.intent, context_ref=asked.context_ref, session_id=asked.session_id
    )
    journal = served.conversations.journal(asked.conversation)
    return _context(await served.worker.run(lambda: journal.log(entry)))


@router.delete("/context", responses=documented(ClearedReply, 400, 404, 422, 503))
async def clear_context(served: Served, conversation: ConversationQuery = None) -> Response:
    """Forget a conversation, and tell how many entries it had."""
    count = await served.worker.run(lambda: served.conversations.clear(conversation))
    return ClearedReply(cleared=count).response()


@router.get("/prompts", responses=documented(list[PromptReply], 404, 422))
async def list_prompts(served: Served) -> Response:
    """List the prompts of a workspace: the packaged ones, and its own laid over them."""
    prompts = served.conversations.library.prompts()
    found: list[Any] = [PromptReply.model_validate(prompt).model_dump() for prompt in prompts]
    return JSONResponse(found)


@router.get("/prompts/{name}", responses=documented(PromptBodyReply, 404, 422))
async def show_prompt(served: Served, name: PromptName) -> Response:
    """Return one prompt with its template."""
    library = served.conversations.library
    try:
        prompt = library.get(name)
    except DispatchError as error:
        raise NotServedError(error.message, where=error.where, hint=error.hint) from error
    return PromptBodyReply.model_validate(prompt).response()


@router.post("/web", tags=["web"], responses=documented(WebReply, 400, 404, 409, 422, 503))
async def open_web(request: Request, served: Served, asked: WebRequest) -> Response:
    """Open the web page, unless it is open, and let one browser in."""
    host: SiteHost | None = request.app.state.site
    if host is None:
        raise ConflictError("this service has no web page", hint="start it: kds web")
    url, login = await host.open(served.root, asked.port)
    return WebReply(url=url, login=login).response()


def _context(loaded: LoadedContext) -> Response:
    entries = [entry_to_wire(entry) for entry in loaded.entries]
    return JSONResponse({"entries": entries, "warnings": list(loaded.warnings)})
