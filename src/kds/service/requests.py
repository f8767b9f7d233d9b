"""What requests hold, and what each passes: size, installation, workspace, errors.

Bodies are strict: an unknown field, or one of another type, is a 422. A failure is
`{"error": {"message", "where", "hint"}}` with a status that fits; /openapi.json describes both.
"""

import os
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager
from functools import wraps
from typing import Annotated, Any, Final, Literal, ParamSpec, TypeVar, cast
from urllib.parse import unquote_to_bytes

from fastapi import Depends, FastAPI, Query, Request
from fastapi.exceptions import RequestValidationError
from pydantic import AliasChoices, BaseModel, ConfigDict, Field, model_validator
from starlette.exceptions import HTTPException
from starlette.responses import JSONResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from kds.brain.context.names import NAME_LIMIT, ORIGIN
from kds.brain.errors import (
    ConfigError,
    DispatchError,
    ExposedError,
    KdsError,
    MessageError,
    OutageError,
    RemovedError,
    StoreError,
    UnknownNameError,
    WorkspaceError,
)
from kds.brain.message import MESSAGE_LIMIT as MESSAGE_LIMIT
from kds.brain.message import well_formed
from kds.brain.turn import Utterance
from kds.hooks.call import WORKSPACE_HEADER
from kds.hooks.reply import HookInputError
from kds.service.errors import ReplacedError, ServiceError, describe_fault
from kds.service.service_client import HISTORY_LIMIT, KNOWN_LIMIT
from kds.service.workspaces import ServedWorkspace, Workspaces

_Given = ParamSpec("_Given")
_Result = TypeVar("_Result")

WORKSPACE: Final = "kds.workspace"
"""Key of the ASGI scope: root of the request's workspace, where the way in decides it."""

PERSON: Final = "kds.person"  # key of the ASGI scope: whose token a request to a shared service has

BODY_LIMIT: Final = 1_000_000
"""Bytes. A message at MESSAGE_LIMIT takes 600 kB when every character is escaped (`\\uXXXX`)."""

UPLOAD_LIMIT: Final = 16 * BODY_LIMIT
"""Bytes of what takes whole files. As much beyond a limit is read and thrown away, so that a client
that writes first and reads afterwards sees the 413 instead of a broken connection."""

UPLOADS: Final = ("/documents", "/sessions/import")

SHOWN: Final = 5  # faults of one request that are listed

TEXT_LIMIT: Final = 500  # characters of a name: an intent, a session, what a message refers to

PATH_LIMIT: Final = 4_096  # characters of a path: PATH_MAX of Linux

VARIABLES_LIMIT: Final = 64  # variables of one request: there are some thirty

MessageText = Annotated[str, Field(min_length=1, max_length=MESSAGE_LIMIT)]
ShortText = Annotated[str, Field(max_length=TEXT_LIMIT)]
ConversationName = Annotated[str | None, Field(min_length=1, max_length=NAME_LIMIT)]
ConversationQuery = Annotated[str | None, Query(min_length=1, max_length=NAME_LIMIT)]


class RequestBody(BaseModel):
    """The body of a request: strict and frozen."""

    model_config = ConfigDict(
        extra="forbid", strict=True, frozen=True, use_attribute_docstrings=True
    )

    @model_validator(mode="before")
    @classmethod
    def _readable(cls, sent: object) -> object:
        """JSON can hold half an emoji, which pydantic refuses, and 8.0 for 8."""
        return {key: _read(one) for key, one in sent.items()} if isinstance(sent, dict) else sent


def _read(value: object) -> object:
    if isinstance(value, float) and value.is_integer():
        return int(value)
    return well_formed(value) if isinstance(value, str) else value


class UtteranceRequest(RequestBody):
    """An earlier message of the conversation; ``text`` is read for ``content``, too."""

    content: str = Field(max_length=MESSAGE_LIMIT, validation_alias=AliasChoices("content", "text"))
    role: Literal["user", "assistant"] = "user"


class RouteRequest(RequestBody):
    """One message to route."""

    message: MessageText
    conversation: ConversationName = None
    """Whose context counts, such as a client's session id; null: that of the workspace."""
    join: bool = False
    """Let the workspace's context stand in while the conversation is empty, and log there too."""
    origin: str | None = Field(None, pattern=rf"^{ORIGIN.pattern}$")
    """The terminal: a message does not refer to what another open terminal says."""
    log: bool = True
    history: list[UtteranceRequest] = Field([], max_length=HISTORY_LIMIT)
    """What was said before, oldest first, replies included."""
    rewrite: bool | None = None
    """Whether a model may rewrite the message; null: as the settings say."""
    known: list[str] | None = Field(None, max_length=KNOWN_LIMIT)
    """What the conversation has referred to, oldest first; null: what the memory knows."""
    variables: dict[str, str] | None = Field(None, max_length=VARIABLES_LIMIT)
    """The caller's environment variables for settings: 409 where the service has others."""
    fits: bool = False
    """Name the skill, agent, command or prompt file of the project that the message calls for."""

    @property
    def said(self) -> tuple[Utterance, ...]:
        """The history as values."""
        return tuple(Utterance(one.content, one.role) for one in self.history)


JSON: Final = dict[str, Any]
"""A reply whose fields are those of a value; the descriptions say which."""

ERRORS: Final[dict[int | str, dict[str, Any]]] = {
    "4XX": {"description": "The request is wrong: `error` has message, where and hint."},
    "5XX": {"description": "500: a full disk, a defect. 503: busy, or stopping."},
}
"""The documentation of the errors that any operation may have."""


class BodyLimit:
    """Reading a body beyond the limit is a 413.

    Bytes are counted: a chunked body has no header that says its size.
    """

    def __init__(self, app: ASGIApp, *, limit: int = BODY_LIMIT) -> None:
        self._app = app
        self._limit = limit

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Run the layers below, and count what they read."""
        size, limit = 0, self._limit
        if scope.get("path") in UPLOADS:
            limit = max(limit, UPLOAD_LIMIT)

        async def counted() -> Message:
            nonlocal size
            event = await receive()
            size += len(event.get("body", b""))
            if size <= limit:
                return event
            while event.get("more_body") and size <= limit + UPLOAD_LIMIT:
                event = await receive()
                size += len(event.get("body", b""))
            raise HTTPException(413, f"the body is larger than {limit:,} bytes")

        await self._app(scope, counted, send)


async def current(request: Request) -> None:
    """Refuse requests once the installation was replaced; clients start the new version."""
    if request.app.state.is_replaced():
        raise ReplacedError()


def named_root(request: Request) -> str | None:
    """The workspace that the header of a request names."""
    named = request.headers.get(WORKSPACE_HEADER)
    return os.fsdecode(unquote_to_bytes(named)) if named else None


def root_of(request: Request) -> str:
    """The root of a request's workspace: the way in decides it, else its header, else a default."""
    default = request.app.state.workspaces.default
    return request.scope.get(WORKSPACE) or named_root(request) or default or ""


async def _opened(request: Request) -> AsyncIterator[ServedWorkspace]:
    """Open the workspace of a request, and keep it and the service open meanwhile.

    Raises ServiceError when none is named, KdsError when it does not load.
    """
    workspaces: Workspaces = request.app.state.workspaces
    with workspaces.attendance:
        if not (root := root_of(request)):
            raise ServiceError(
                "the request names no workspace",
                where=WORKSPACE_HEADER,
                hint=f"send the header `{WORKSPACE_HEADER}: /path/of/the/project`",
            )
        served = await workspaces.open(root)
        person = request.scope.get(PERSON)
        with served.attendance:
            own = served if person is None else served.of(person)
            yield own
            own.unembedded = True


opened = asynccontextmanager(_opened)

Served = Annotated[ServedWorkspace, Depends(_opened)]
"""The workspace of a request, as a parameter of an operation."""


def on_archivist(operation: Callable[_Given, _Result]) -> Callable[_Given, Awaitable[_Result]]:
    """Run an operation on the thread of its workspace that looks after the memory."""

    @wraps(operation)
    async def run(*none: _Given.args, **given: _Given.kwargs) -> _Result:
        served = cast(ServedWorkspace, given["served"])
        return await served.archivist.run(lambda: operation(*none, **given))

    return run


_STATUS: Final[Mapping[type[KdsError], int]] = {
    OutageError: 503,
    RemovedError: 401,
    ExposedError: 503,
    MessageError: 400,
    UnknownNameError: 404,
    DispatchError: 400,
    HookInputError: 400,
}
"""Of errors from below; every other is the service's own fault: 500."""

_HEADERS: Final = {401: {"WWW-Authenticate": "Bearer"}, 503: {"Retry-After": "1"}}
"""A full queue drains in about a second."""


def status_of(error: KdsError) -> int:
    """The HTTP status for ``error``."""
    if isinstance(error, ServiceError):
        return error.status
    return next((status for kind, status in _STATUS.items() if isinstance(error, kind)), 500)


def error_response(
    error: KdsError,
    *,
    status: int | None = None,
    headers: Mapping[str, str] | None = None,
    owner: bool = True,
) -> JSONResponse:
    """The reply that tells of an error; only the owner is told where a database or a file is."""
    status = status or status_of(error)
    where, hint = error.where, error.hint
    if isinstance(error, StoreError | WorkspaceError | ConfigError) and not owner:
        where, hint = None, "try again" if status == 503 else "tell the admin of the service"
    texts = {"message": error.message, "where": where, "hint": hint}
    body = {name: text and well_formed(text) for name, text in texts.items()}
    return JSONResponse({"error": body}, status, headers or _HEADERS.get(status))


def internal_error(error: Exception) -> KdsError:
    """What a client is told of a fault in KDS itself."""
    return KdsError(
        f"internal error: {type(error).__name__}",
        hint="report it with the line in `kds service logs`",
    )


def add_error_handlers(app: FastAPI) -> None:
    """Give every error the one form. After a replaced installation its faults are not told."""

    @app.exception_handler(KdsError)
    async def _(request: Request, error: KdsError) -> JSONResponse:
        if status_of(error) >= 500 and app.state.is_replaced():
            error = ReplacedError()
        return error_response(error, owner=PERSON not in request.scope)

    @app.exception_handler(Exception)
    async def _(request: Request, error: Exception) -> JSONResponse:
        if app.state.is_replaced():
            return error_response(ReplacedError())
        app.state.log(f"internal error in {request.url.path}: {describe_fault(error)}")
        return error_response(internal_error(error))

    @app.exception_handler(HTTPException)
    async def _(_: Request, error: HTTPException) -> JSONResponse:
        told = KdsError(str(error.detail), hint="see /openapi.json")
        return error_response(told, status=error.status_code, headers=error.headers)

    @app.exception_handler(RequestValidationError)
    async def _(_: Request, error: RequestValidationError) -> JSONResponse:
        faults = error.errors()[:SHOWN]
        places = [".".join(map(str, one["loc"])) for one in faults]
        texts = [f"{at}: {one['msg']}" for at, one in zip(places, faults, strict=True)]
        hint = "see /openapi.json; JSON needs the header `Content-Type: application/json`"
        told = KdsError("; ".join(texts), where=places[0], hint=hint)
        return error_response(told, status=400 if faults[0]["type"] == "json_invalid" else 422)
