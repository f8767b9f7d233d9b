"""Errors of the service, and the one form in which a client hears of any error.

A failure is `{"error": {"message", "where", "hint"}}` with a status that fits.
"""

from collections.abc import Mapping
from typing import Any, ClassVar, Final

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from starlette.exceptions import HTTPException
from starlette.responses import JSONResponse

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
from kds.hooks.call import REPLACED
from kds.hooks.reply import HookInputError

PERSON: Final = "kds.person"
"""Key of the ASGI scope: whose token a request to a shared service has."""

SHOWN: Final = 5
"""Faults of one request that are listed."""

_HEADERS: Final = {401: {"WWW-Authenticate": "Bearer"}, 503: {"Retry-After": "1"}}
"""A full queue drains in about a second."""

_TEXT: Final = "send one JSON object with the header `Content-Type: application/json`"
_FAULTS: Final[Mapping[str, tuple[str, str]]] = {
    "json_invalid": ("invalid JSON", "send one JSON object"),
    **dict.fromkeys(
        # a body that is text to pydantic: without the header, FastAPI reads no JSON
        ("model_attributes_type", "model_type", "dict_type"),
        ("is not a JSON object", _TEXT),
    ),
    "missing": ("is missing", "send it"),
    "extra_forbidden": ("is not known here", "leave it out"),
    "string_too_short": ("must not be empty", "write something, or leave it out"),
    "string_too_long": (
        "is longer than {max_length:,} characters",
        "shorten it: send a request without the files it is about",
    ),
}
"""Names of pydantic's faults: what to say, and how to fix it."""


class ServiceError(KdsError):
    """The service cannot do what it was asked."""

    status: ClassVar[int] = 400


class AlreadyServedError(ServiceError):
    """Another process is this user's service: there is nothing to start."""


class UnauthorizedError(ServiceError):
    """A request without a valid token."""

    status = 401


class ForbiddenError(ServiceError):
    """A request from elsewhere, or of somebody who may not."""

    status = 403


class NotServedError(ServiceError):
    """There is nothing of that name here."""

    status = 404


class ConflictError(ServiceError):
    """The request contradicts the current state: an id in use, a memory that is off."""

    status = 409


class TooLargeError(ServiceError):
    """More than the service takes in one request."""

    status = 413


class BusyError(ServiceError):
    """The queue is full, or the service is stopping: ask again."""

    status = 503


class ReplacedError(BusyError):
    """The installation was replaced: what the service would still read is of another version."""

    def __init__(self) -> None:
        super().__init__(
            "this service was started from an installation that was replaced",
            where=REPLACED,
            hint="ask again: the next command starts the new one",
        )


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
        first, *others = error.errors()
        hint = _FAULTS.get(first["type"], ("", "correct it"))[1]
        texts = (_fault(first), *(f"{_place(one)} {_fault(one)}" for one in others[: SHOWN - 1]))
        told = KdsError("; ".join(texts), where=_place(first), hint=f"{hint}; see /openapi.json")
        return error_response(told, status=400 if first["type"] == "json_invalid" else 422)


def internal_error(error: Exception) -> KdsError:
    """What a client is told of a fault in KDS itself."""
    return KdsError(
        f"internal error: {type(error).__name__}",
        hint="report it with the line in `kds service logs`",
    )


def describe_fault(error: BaseException) -> str:
    """The kind of a fault and where it arose, without its text, which may quote a message.

    >>> describe_fault(ValueError("what the user said"))
    'ValueError'
    """
    trace = error.__traceback__
    while trace is not None and trace.tb_next is not None:
        trace = trace.tb_next
    name = type(error).__name__
    if trace is None:
        return name
    code = trace.tb_frame.f_code
    return f"{name} at {code.co_filename}:{trace.tb_lineno} in {code.co_name}"


def _fault(fault: Mapping[str, Any]) -> str:
    known = _FAULTS.get(fault["type"])
    return known[0].format(**fault.get("ctx", {})) if known else str(fault["msg"]).lower()


def _place(fault: Mapping[str, Any]) -> str:
    return ".".join(map(str, fault["loc"]))
