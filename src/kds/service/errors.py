"""Errors of the service, and the one mapping from an error to an HTTP reply.

ServiceError (a KdsError)
├── AlreadyServedError   another process is the user's service
├── BusyError            the queue is full, or the service is stopping
├── ConflictError        an id in use, a memory that is off
├── ForgedError          a form that the page did not make
├── NotServedError       an unknown workspace, prompt or path
└── TooLargeError        a body or a message beyond its limit
"""

from collections.abc import Mapping
from typing import Any, Final

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
from kds.hooks.reply import HookInputError

RETRY_AFTER_S: Final = 1
"""Seconds a client is asked to wait when the queue is full: it drains in about that time."""

SHOWN: Final = 5
"""Faults of one request that are listed."""

_FAULTS: Final[Mapping[str, tuple[str, str]]] = {
    "missing": ("is missing", "send it"),
    "extra_forbidden": ("is not known here", "leave it out"),
    "string_too_short": ("must not be empty", "write something, or leave it out"),
    "string_too_long": (
        "is longer than {max_length:,} characters",
        "shorten it: send a request without the files it is about",
    ),
}
"""Names of pydantic's faults: what to say, and how to fix it."""

_NOT_AN_OBJECT: Final = ("model_attributes_type", "model_type", "dict_type")
"""pydantic's names for a body that is text to it: without the header, FastAPI reads no JSON."""


class ServiceError(KdsError):
    """The service cannot do what it was asked."""


class AlreadyServedError(ServiceError):
    """Another process is this user's service: there is nothing to start."""


class BusyError(ServiceError):
    """The queue is full, or the service is stopping: ask again."""


class ConflictError(ServiceError):
    """The request contradicts the current state."""


class ForgedError(ServiceError):
    """A form without the proof that this page made it."""


class NotServedError(ServiceError):
    """There is nothing of that name here."""


class TooLargeError(ServiceError):
    """More than the service takes in one request."""


_STATUS: Final[tuple[tuple[type[KdsError], int], ...]] = (
    (NotServedError, 404),
    (ForgedError, 403),
    (ConflictError, 409),
    (TooLargeError, 413),
    (BusyError, 503),
    (OutageError, 503),
    (RemovedError, 401),
    (ExposedError, 503),
    (MessageError, 400),
    (UnknownNameError, 404),
    (DispatchError, 400),
    (HookInputError, 400),
    (ServiceError, 400),
)
"""The first that fits counts; every other KdsError is the service's own fault: 500."""


def status_of(error: KdsError) -> int:
    """The HTTP status for ``error``."""
    return next((status for kind, status in _STATUS if isinstance(error, kind)), 500)


def error_response(
    status: int,
    message: str,
    *,
    where: str | None = None,
    hint: str | None = None,
    headers: Mapping[str, str] | None = None,
) -> JSONResponse:
    """The reply of every failure: ``{"error": {"message", "where", "hint"}}``."""
    texts = {"message": message, "where": where, "hint": hint}
    body = {name: None if text is None else well_formed(text) for name, text in texts.items()}
    return JSONResponse({"error": body}, status, headers)


def tell_error(request: Request, error: KdsError) -> JSONResponse:
    """The reply for an error; only the owner is told where a database is, and what it said."""
    status = status_of(error)
    headers = {"Retry-After": str(RETRY_AFTER_S)} if status == 503 else None
    from kds.service.security import PERSON  # which needs this module itself

    where, hint = error.where, error.hint
    if isinstance(error, StoreError) and request.scope.get(PERSON) is not None:
        where, hint = None, "try again" if status == 503 else "tell the admin of the service"
    return error_response(status, error.message, where=where, hint=hint, headers=headers)


def add_error_handlers(app: FastAPI) -> None:
    """Give every error that reaches FastAPI the one form."""

    def tell_status(_: Request, error: HTTPException) -> JSONResponse:
        text, hint = str(error.detail), "see /openapi.json"
        return error_response(error.status_code, text, hint=hint, headers=error.headers)

    app.exception_handler(KdsError)(tell_error)
    app.exception_handler(RequestValidationError)(_tell_faults)
    app.exception_handler(HTTPException)(tell_status)


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


def _tell_faults(_: Request, error: RequestValidationError) -> JSONResponse:
    """Say what is wrong with a request: the first fault where, and others behind it."""
    first, *others = error.errors()
    place = _place(first)
    if first["type"] == "json_invalid":
        return error_response(400, "invalid JSON", where="body", hint="send one JSON object")
    if place == "body" and first["type"] in _NOT_AN_OBJECT:
        hint = "send one JSON object with the header `Content-Type: application/json`"
        return error_response(422, "the body is not a JSON object", where=place, hint=hint)
    told = [_fault(first), *(f"{_place(one)} {_fault(one)}" for one in others[: SHOWN - 1])]
    hint = _FAULTS.get(first["type"], ("", "correct it"))[1]
    return error_response(422, "; ".join(told), where=place, hint=f"{hint}; see /openapi.json")


def _fault(fault: Mapping[str, Any]) -> str:
    known = _FAULTS.get(fault["type"])
    return known[0].format(**fault.get("ctx", {})) if known else str(fault["msg"]).lower()


def _place(fault: Mapping[str, Any]) -> str:
    return ".".join(str(part) for part in fault["loc"])
