"""Routing a message, the context, the prompts, and opening the web page."""

from collections.abc import Mapping
from contextlib import suppress
from dataclasses import replace
from functools import partial
from typing import Annotated, Any

from fastapi import APIRouter, Request
from fastapi import Path as PathParameter
from pydantic import ConfigDict, Field
from starlette.responses import JSONResponse, Response

from kds.brain.clock import utc_now
from kds.brain.context.journal import LoadedContext
from kds.brain.environment import routing_variables
from kds.brain.errors import DispatchError, KdsError, MessageError
from kds.brain.message import clean_message
from kds.brain.turn import ContextEntry, Turn, entry_to_wire, to_wire
from kds.service.errors import ConflictError, NotServedError
from kds.service.listening import SiteHost
from kds.service.models import (
    TEXT_LIMIT,
    ConversationName,
    ConversationQuery,
    MessageText,
    Reply,
    RequestBody,
    RouteRequest,
    ShortText,
)
from kds.service.requests import Served
from kds.service.routes.hook import fitting
from kds.service.service_client import SWITCHED_OFF
from kds.service.workspaces import ServedWorkspace


class ContextRequest(RequestBody):
    """One message to remember as it stands."""

    message: MessageText
    intent: ShortText = Field(min_length=1)
    context_ref: ShortText | None = None
    session_id: ShortText | None = None
    conversation: ConversationName = None


class WebRequest(RequestBody):
    """Where the page is to be."""

    port: int | None = Field(None, ge=1, le=65_535)
    """null: where it is already, else 5370 or near it."""


class WebReply(Reply):
    """Where the page is."""

    url: str
    login: str
    """A link that lets one browser in, once, within a few minutes."""


class ContextReply(Reply):
    """A conversation context, oldest first: at most ten entries, none older than two hours."""

    entries: list[ContextEntry]
    """What a message does not have, such as something that it refers to, is left out."""
    warnings: list[str]

    model_config = ConfigDict(json_schema_serialization_defaults_required=False)


class ClearedReply(Reply):
    """How many entries were forgotten."""

    cleared: int


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


@router.post("/route", response_model=dict[str, Any])
async def route(served: Served, asked: RouteRequest) -> Response:
    """Route a message: what it refers to, its intent, and the agent's prompt, filled in.

    The fields are those of `kds route --json`, with the context, the records of the steps, and
    warnings, such as prompts that are broken at the moment. With `fits` also `fits`: the name and
    kind of what the message calls for, once in a conversation, or null.
    """
    turn = await routed(served, asked)
    entry = (
        await fitting(served, asked.message, asked.said, asked.conversation) if asked.fits else None
    )
    told = {"fits": entry and {"name": entry.name, "kind": entry.kind}} if asked.fits else {}
    return JSONResponse({**to_wire(turn), **told, "warnings": list(served.warnings)})


@router.get("/context", response_model=ContextReply)
async def load_context(served: Served, conversation: ConversationQuery = None) -> Response:
    """Return what a conversation remembers, oldest first."""
    read = served.worker.run(lambda: served.conversations.journal(conversation).load())
    return _context(await read)


@router.post("/context", response_model=ContextReply)
async def log_context(served: Served, asked: ContextRequest) -> Response:
    """Remember a message as it stands, with secrets taken out, and return the context."""
    entry = ContextEntry(
        timestamp=utc_now(),
        user_message=clean_message(asked.message),
        intent=served.conversations.library.intent_named(asked.intent),
        session_id=clean_message(asked.session_id) if asked.session_id else None,
        context_ref=clean_message(asked.context_ref) if asked.context_ref else None,
    )
    journal = served.conversations.journal(asked.conversation)
    return _context(await served.worker.run(lambda: journal.log(entry)))


@router.delete("/context")
async def clear_context(served: Served, conversation: ConversationQuery = None) -> ClearedReply:
    """Forget a conversation, and tell how many entries it had."""
    count = await served.worker.run(lambda: served.conversations.clear(conversation))
    return ClearedReply(cleared=count)


@router.get("/prompts")
async def list_prompts(served: Served) -> list[PromptReply]:
    """List the prompts of a workspace: the packaged ones, and its own laid over them."""
    return list(map(PromptReply.model_validate, served.conversations.library.prompts()))


@router.get("/prompts/{name}")
async def show_prompt(
    served: Served, name: Annotated[str, PathParameter(max_length=TEXT_LIMIT)]
) -> PromptBodyReply:
    """Return one prompt with its template."""
    try:
        prompt = served.conversations.library.get(name)
    except DispatchError as error:
        raise NotServedError(error.message, where=error.where, hint=error.hint) from error
    return PromptBodyReply.model_validate(prompt)


@router.post("/web", tags=["web"])
async def open_web(request: Request, served: Served, asked: WebRequest) -> WebReply:
    """Open the web page, unless it is open, and let one browser in."""
    host: SiteHost | None = request.app.state.site
    if host is None:
        raise ConflictError("this service has no web page", hint="start it: kds web")
    url, login = await host.open(served.root, asked.port)
    return WebReply(url=url, login=login)


def _context(loaded: LoadedContext) -> Response:
    entries = [entry_to_wire(entry) for entry in loaded.entries]
    return JSONResponse({"entries": entries, "warnings": list(loaded.warnings)})


async def routed(served: ServedWorkspace, asked: RouteRequest) -> Turn:
    """Route a message on the workspace's thread, which never waits for a model.

    A model that rewrites (docs/rewriting.md) may take seconds. So the rules read the message
    first; where they would have a model asked, that is done elsewhere; then the message is routed,
    and the rewriter has its answer already.

    Raises what `Conversations.route` raises, and ConflictError when the sender's settings differ.
    """
    worker, by = served.worker, served.conversations
    if served.person is not None:
        await worker.run(served.look)
    if asked.variables is not None:
        _check_variables(served, asked.variables)
    how: dict[str, Any] = {
        "conversation": asked.conversation, "join": asked.join, "history": asked.said,
        "known": asked.known, "origin": asked.origin,
    }  # fmt: skip
    rewriter = None
    with suppress(KdsError):  # the turn itself reports what is wrong with it
        rewriter = None if asked.rewrite is False else by.rewriter()
    if rewriter is not None and rewriter.mode != "rules-only":
        by_rules = {**how, "log": False, "rewrite": False}
        turn = await worker.run(lambda: by.route(asked.message, **by_rules))
        turn = replace(turn, rewrite=asked.rewrite)
        if rewriter.wants(turn):
            with suppress(KdsError):  # too slow, or stopping: it is routed by the rules
                ask = partial(rewriter.ask_ahead, turn)
                await served.queries.speakers.run(ask, timeout_s=served.queries.rewriting_s)
        elif not asked.log and asked.rewrite is None:  # as the rules read it: once is enough
            served.turns += 1
            return turn
    how |= {"log": asked.log, "rewrite": asked.rewrite}
    return await worker.run(lambda: served.route(asked.message, **how))


def _check_variables(served: ServedWorkspace, theirs: Mapping[str, str]) -> None:
    """Raise ConflictError when a command with these variables has to do the work itself."""
    if served.person is not None:
        raise MessageError(
            "a shared service takes no variables of its callers",
            where="variables",
            hint="leave them out: its operator sets them",
        )
    own = routing_variables()
    other = sorted(name for name in theirs.keys() | own.keys() if theirs.get(name) != own.get(name))
    if other:
        raise ConflictError(
            f"the running service has another {', '.join(other)}",
            where="variables",
            hint="kds service stop: the next command starts one that has yours",
        )
    if not served.memory.config.settings.service.enabled:
        raise ConflictError("the service is switched off for commands", where=SWITCHED_OFF)
