"""What every request passes: the size of its body, the installation, its workspace, its errors.

A failure is `{"error": {"message", "where", "hint"}}` with a status that fits.
"""

import os
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager
from functools import wraps
from typing import Annotated, Final, ParamSpec, TypeVar, cast
from urllib.parse import unquote_to_bytes

from fastapi import Depends, FastAPI, Request
from fastapi.exceptions import RequestValidationError
from starlette.exceptions import HTTPException
from starlette.responses import JSONResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from kds.brain.errors import (
    DispatchError,
    ExposedError,
    KdsError,
    MessageError,
    OutageError,
    RemovedError,
    StoreError,
    UnknownNameError,
)
from kds.brain.message import well_formed
from kds.hooks.call import WORKSPACE_HEADER
from kds.hooks.reply import HookInputError
from kds.service.errors import ReplacedError, ServiceError, describe_fault
from kds.service.workspaces import ServedWorkspace, Workspaces

_Given = ParamSpec("_Given")
_Result = TypeVar("_Result")

WORKSPACE: Final = "kds.workspace"
"""Key of the ASGI scope: root of the request's workspace, where the way in decides it."""

PERSON: Final = "kds.person"
"""Key of the ASGI scope: whose token a request to a shared service has."""

BODY_LIMIT: Final = 1_000_000
"""Bytes. A message at MESSAGE_LIMIT takes 600 kB when every character is escaped (`\\uXXXX`)."""

DRAIN_LIMIT: Final = 16 * BODY_LIMIT
"""Bytes beyond the limit that are read and thrown away, so that a client that writes first
and reads afterwards sees the 413 instead of a broken connection."""

SHOWN: Final = 5
"""Faults of one request that are listed."""

_HEADERS: Final = {401: {"WWW-Authenticate": "Bearer"}, 503: {"Retry-After": "1"}}
"""A full queue drains in about a second."""

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


class BodyLimit:
    """Reading a body beyond the limit is a 413.

    Bytes are counted: a chunked body has no header that says its size.
    """

    def __init__(self, app: ASGIApp, *, limit: int = BODY_LIMIT) -> None:
        self._app = app
        self._limit = limit

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Run the layers below, and count what they read."""
        size = 0

        async def counted() -> Message:
            nonlocal size
            event = await receive()
            size += len(event.get("body", b""))
            if size <= self._limit:
                return event
            while event.get("more_body") and size <= self._limit + DRAIN_LIMIT:
                event = await receive()
                size += len(event.get("body", b""))
            raise HTTPException(413, f"the body is larger than {self._limit:,} bytes")

        await self._app(scope, counted, send)


async def current(request: Request) -> None:
    """Refuse requests once the installation was replaced; the service ends.

    Clients do the work themselves then, or start the new version.
    """
    if request.app.state.is_replaced():
        raise ReplacedError


def named_root(request: Request) -> str | None:
    """The workspace that the header of a request names."""
    named = request.headers.get(WORKSPACE_HEADER)
    return os.fsdecode(unquote_to_bytes(named)) if named else None


def root_of(request: Request) -> str | None:
    """Return the root of the workspace that a request is about.

    The way in may decide it, else the header names it, else there may be a default.
    """
    workspaces: Workspaces = request.app.state.workspaces
    return request.scope.get(WORKSPACE) or named_root(request) or workspaces.default


async def _opened(request: Request) -> AsyncIterator[ServedWorkspace]:
    """Open the workspace that a request is about, and keep it and the service open meanwhile.

    Raises ServiceError when none is named, KdsError when it does not load.
    """
    workspaces: Workspaces = request.app.state.workspaces
    root = root_of(request)
    with workspaces.attendance:
        if not root:
            raise ServiceError(
                "the request names no workspace",
                where=WORKSPACE_HEADER,
                hint=f"send the header `{WORKSPACE_HEADER}: /path/of/the/project`",
            )
        served = await workspaces.open(root)
        person = request.scope.get(PERSON)
        with served.attendance:
            yield served if person is None else served.people.find(person)


opened = asynccontextmanager(_opened)

Served = Annotated[ServedWorkspace, Depends(_opened)]
"""The workspace that a request is about, as a parameter of an operation."""


def on_archivist(operation: Callable[_Given, _Result]) -> Callable[_Given, Awaitable[_Result]]:
    """Run an operation on the thread of its workspace that looks after the memory."""

    @wraps(operation)
    async def run(*none: _Given.args, **given: _Given.kwargs) -> _Result:
        served = cast(ServedWorkspace, given["served"])
        return await served.archivist.run(lambda: operation(*none, **given))

    return run


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
    """The reply that tells of an error; only the owner is told where a database is."""
    status = status or status_of(error)
    where, hint = error.where, error.hint
    if isinstance(error, StoreError) and not owner:
        where, hint = None, "try again" if status == 503 else "tell the admin of the service"
    texts = {"message": error.message, "where": where, "hint": hint}
    body = {name: None if text is None else well_formed(text) for name, text in texts.items()}
    return JSONResponse({"error": body}, status, headers or _HEADERS.get(status))


def internal_error(error: Exception) -> KdsError:
    """What a client is told of a fault in KDS itself."""
    return KdsError(
        f"internal error: {type(error).__name__}",
        hint="report it with the line in `kds service logs`",
    )


def add_error_handlers(app: FastAPI) -> None:
    """Give every error the one form.

    A service whose installation was replaced (`state.is_replaced`) says that, not its faults.
    """

    @app.exception_handler(KdsError)
    async def _(request: Request, error: KdsError) -> JSONResponse:
        if status_of(error) >= 500 and app.state.is_replaced():
            return error_response(ReplacedError())
        return error_response(error, owner=PERSON not in request.scope)

    @app.exception_handler(HTTPException)
    async def _(_: Request, error: HTTPException) -> JSONResponse:
        told = KdsError(str(error.detail), hint="see /openapi.json")
        return error_response(told, status=error.status_code, headers=error.headers)

    @app.exception_handler(Exception)
    async def _(request: Request, error: Exception) -> JSONResponse:
        if app.state.is_replaced():
            return error_response(ReplacedError())
        app.state.log(f"internal error in {request.url.path}: {describe_fault(error)}")
        return error_response(internal_error(error))

    @app.exception_handler(RequestValidationError)
    async def _(_: Request, error: RequestValidationError) -> JSONResponse:
        faults = error.errors()[:SHOWN]
        places = [".".join(map(str, one["loc"])) for one in faults]
        texts = [f"{at}: {one['msg']}" for at, one in zip(places, faults, strict=True)]
        hint = "see /openapi.json; JSON needs the header `Content-Type: application/json`"
        told = KdsError("; ".join(texts), where=places[0], hint=hint)
        return error_response(told, status=400 if faults[0]["type"] == "json_invalid" else 422)
