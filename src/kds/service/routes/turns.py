"""Routing a message, the context, prompts, MCP messages, checks of files."""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress
from dataclasses import asdict, replace
from functools import partial
from typing import Annotated, Any, Final

from fastapi import APIRouter, Request
from pydantic import Field
from starlette.responses import JSONResponse, Response

from kds.brain.clock import utc_now
from kds.brain.context.journal import LoadedContext
from kds.brain.environment import routing_variables
from kds.brain.errors import KdsError, MessageError
from kds.brain.message import clean_message
from kds.brain.turn import ContextEntry, Turn, entry_to_wire, to_wire
from kds.brain.workspace import Workspace
from kds.service.errors import ConflictError, NotServedError
from kds.service.requests import (
    JSON,
    PATH_LIMIT,
    VARIABLES_LIMIT,
    ConversationName,
    ConversationQuery,
    MessageText,
    RequestBody,
    RouteRequest,
    Served,
    ShortText,
)
from kds.service.routes.hook import fitting
from kds.service.service_client import SWITCHED_OFF
from kds.service.workspaces import ServedWorkspace
from kds.testing.findings import check

MOST_TEXTS: Final = 500

AnswerMcp = Callable[[Workspace, Sequence[str]], Awaitable[list[str]]]
"""Answers messages of the Model Context Protocol; of a room above (`kds.mcp`)."""


class ContextRequest(RequestBody):
    """One message to remember as it stands."""

    message: MessageText
    intent: ShortText = Field(min_length=1)
    context_ref: ShortText | None = None
    session_id: ShortText | None = None
    conversation: ConversationName = None


class McpRequest(RequestBody):
    """The last message of a client, and its greeting."""

    messages: list[str] = Field(min_length=1, max_length=3)
    variables: dict[str, str] = Field({}, max_length=VARIABLES_LIMIT)
    """The caller's environment variables for settings."""


class CheckRequest(RequestBody):
    """The texts that count in place of files."""

    texts: dict[Annotated[str, Field(max_length=PATH_LIMIT)], str] = Field(
        {}, max_length=MOST_TEXTS
    )
    """By path, absolute or within the workspace."""
    full: bool = False
    """Run every test of the rules, and route every example: this takes seconds."""


_SHORT: Final = ("name", "description", "intent", "ref", "ask", "handoffs", "confirm", "tools")
"""What is told of a prompt file."""

router = APIRouter()


@router.post("/route", response_model=JSON)
async def route(served: Served, asked: RouteRequest) -> Response:
    """Route a message: what it refers to, its intent, and the agent's prompt, filled in.

    The fields are those of `kds route --json`, with the context, the records of the steps,
    warnings, and `problems`: what is wrong in files of the workspace. With `fits` also `fits`: the
    name and kind of what the message calls for, once in a conversation, or null.
    """
    reply = to_wire(await routed(served, asked))
    if asked.fits:
        entry = await fitting(served, asked.message, asked.said, asked.conversation, by_user=True)
        reply["fits"] = entry and {"name": entry.name, "kind": entry.kind}
    wrong = list(map(asdict, served.problems)) if served.person is None else []
    return JSONResponse({**reply, "warnings": list(served.warnings), "problems": wrong})


async def routed(served: ServedWorkspace, asked: RouteRequest) -> Turn:
    """Route a message on a thread of the workspace, which never waits for a model.

    A model that rewrites (docs/rewriting.md) may take seconds. So the rules read the message
    first; where they would have a model asked, that is done elsewhere; then the message is routed,
    and the rewriter has its answer already.

    Raises what `Conversations.route` raises, and ConflictError when the sender's settings differ.
    """
    run, by = served.worker.run, served.conversations
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
        by_rules = partial(by.route, asked.message, **how, log=False, rewrite=False)
        turn = replace(await run(by_rules), rewrite=asked.rewrite)
        if rewriter.wants(turn):
            with suppress(KdsError):  # too slow, or stopping: it is routed by the rules
                ask = partial(rewriter.ask_ahead, turn)
                limit_s = served.queries.settings.rewriting.timeout_s
                await served.queries.speakers.run(ask, timeout_s=limit_s)
        elif not asked.log and asked.rewrite is None:  # as the rules read it: once is enough
            served.turns += 1
            return turn
    return await run(
        partial(served.route, asked.message, **how, log=asked.log, rewrite=asked.rewrite)
    )


def _check_variables(served: ServedWorkspace, theirs: dict[str, str]) -> None:
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


@router.post("/mcp", response_model=JSON)
async def answer_mcp(request: Request, served: Served, asked: McpRequest) -> Response:
    """Answer messages of the Model Context Protocol, each a line of JSON: for `kds mcp`.

    Before a request stands the greeting of its client. 409: the settings are others there.
    """
    _check_variables(served, asked.variables)
    answer: AnswerMcp | None = request.app.state.mcp
    if answer is None:
        raise NotServedError("this service answers no MCP clients", hint="kds mcp")
    return JSONResponse({"messages": await answer(served.workspace, asked.messages)})


@router.post("/check", response_model=JSON)
async def check_files(request: Request, served: Served, asked: CheckRequest) -> Response:
    """Check prompts, rules, words, settings and the dialogues given, as they are being edited.

    `problems` has all of a workspace: path, place, message, hint, code, severity, replacement.
    `dialogues` has path, id and line of each. Nothing is changed or remembered.
    """
    if served.person is not None:
        raise NotServedError("files are checked where they are", hint="run kds on that machine")
    root = served.workspace.root
    texts = {root / path: text for path, text in asked.texts.items() if "\0" not in path}
    look = partial(check, served.workspace, texts, full=asked.full)
    # As somebody types: in turn, and not behind one that takes seconds.
    checker = request.app.state.workspaces.checker
    return JSONResponse(asdict(await (asyncio.to_thread if asked.full else checker.run)(look)))


@router.get("/context", response_model=JSON)
async def load_context(served: Served, conversation: ConversationQuery = None) -> Response:
    """Return what a conversation remembers, oldest first."""
    journal = served.conversations.journal(conversation)
    return _context(await served.worker.run(journal.load))


@router.post("/context", response_model=JSON)
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
async def clear_context(served: Served, conversation: ConversationQuery = None) -> dict[str, int]:
    """Forget a conversation, and tell how many entries it had."""
    clear = partial(served.conversations.clear, conversation)
    return {"cleared": await served.worker.run(clear)}


def _context(loaded: LoadedContext) -> Response:
    entries = [entry_to_wire(entry) for entry in loaded.entries]
    return JSONResponse({"entries": entries, "warnings": list(loaded.warnings)})


@router.get("/prompts")
async def list_prompts(served: Served) -> list[dict[str, Any]]:
    """List the prompts of a workspace: the packaged ones, and its own laid over them."""
    prompts = served.conversations.library.prompts()
    return [{name: getattr(one, name) for name in _SHORT} for one in prompts]
