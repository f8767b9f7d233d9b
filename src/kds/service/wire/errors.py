"""What goes wrong in the service, and how a client is told.

ServiceError (a KdsError)
├── AlreadyServedError   another process serves the workspace
├── BusyError            the queue is full, or the service is stopping
├── ConflictError        it does not go with what there is: an id in use, a memory that is off
├── ForgedError          a form that is not of the page that it claims to be of
├── NotServedError       a workspace, prompt or path that is not here
└── TooLargeError        a body or a message beyond its limit
"""

from collections.abc import Awaitable, Callable, Mapping, MutableMapping
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
    UnknownNameError,
)
from kds.brain.message import well_formed
from kds.service.hook.hook_call import HookInputError

Scope = MutableMapping[str, Any]
Event = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Event]]
Send = Callable[[Event], Awaitable[None]]
AsgiApp = Callable[[Scope, Receive, Send], Awaitable[None]]

RETRY_AFTER_S: Final = 1
"""Seconds a client is asked to wait when the queue is full: it drains in about that time."""

_JSON_INVALID: Final = "json_invalid"
"""pydantic's name for a body that is no JSON."""

_NOT_READ_AS_JSON: Final = ("model_attributes_type", "model_type", "dict_type")
"""pydantic's names for a body that is text to it: without the header, FastAPI reads no JSON."""

_FAULTS: Final[Mapping[str, str]] = {
    "missing": "is missing",
    "extra_forbidden": "is not known here",
    "string_too_short": "must not be empty",
    "string_too_long": "is longer than {max_length:,} characters",
}
_HINTS: Final[Mapping[str, str]] = {
    "missing": "send it; /openapi.json says what is accepted",
    "extra_forbidden": "leave it out; /openapi.json says what is accepted",
    "string_too_short": "write something, or leave it out where it is not required",
    "string_too_long": "shorten it: send a request without the files it is about",
}

_SHOWN: Final = 5
"""Faults of one request that are listed; a client sends one or two wrong fields, not fifty."""


class ServiceError(KdsError):
    """The service cannot do what it was asked."""


class AlreadyServedError(ServiceError):
    """Another process serves this workspace: there is nothing to start."""


class BusyError(ServiceError):
    """The queue is full, or the service is stopping: ask again."""


class ConflictError(ServiceError):
    """What is asked for does not go with what there is."""


class ForgedError(ServiceError):
    """A form that does not prove that it is one of ours."""


class NotServedError(ServiceError):
    """What was named is not here."""


class TooLargeError(ServiceError):
    """More than the service takes in one request."""


_STATUS: Final[tuple[tuple[type[KdsError], int], ...]] = (
    (NotServedError, 404),
    (ForgedError, 403),
    (ConflictError, 409),
    (TooLargeError, 413),
    (BusyError, 503),
    (OutageError, 503),
    (ExposedError, 503),
    (MessageError, 400),
    (UnknownNameError, 404),
    (DispatchError, 400),
    (HookInputError, 400),
    (ServiceError, 400),
)
"""The first that fits counts; every other KdsError is the service's own trouble: 500."""


def status_of(error: KdsError) -> int:
    """The HTTP status that tells a client of ``error``."""
    return next((status for kind, status in _STATUS if isinstance(error, kind)), 500)


def error_response(
    status: int,
    message: str,
    *,
    where: str | None = None,
    hint: str | None = None,
    headers: Mapping[str, str] | None = None,
) -> JSONResponse:
    """The reply that every failure has: ``{"error": {"message", "where", "hint"}}``."""
    texts = {"message": message, "where": where, "hint": hint}
    body = {name: None if text is None else well_formed(text) for name, text in texts.items()}
    return JSONResponse({"error": body}, status, headers)


def add_error_handlers(app: FastAPI) -> None:
    """Give every error that reaches FastAPI the one form."""
    app.exception_handler(KdsError)(_tell_error)
    app.exception_handler(RequestValidationError)(_tell_faults)
    app.exception_handler(HTTPException)(_tell_status)


class LastResort:
    """ASGI layer: a fault in KDS itself becomes a 500 without a trace, and one line of the log.

    The line names the kind and the place of the fault, never its text: that may quote a message.
    """

    def __init__(self, app: AsgiApp, log: Callable[[str], None]) -> None:
        self._app = app
        self._log = log

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Run the layers below."""
        begun: list[Event] = []
        try:
            await self._app(scope, receive, at_start(send, begun.append))
        except Exception as error:  # noqa: BLE001  # one bad request must not end the service
            self._log(f"internal error in {scope.get('path')}: {describe_fault(error)}")
            if not begun:
                text = f"internal error: {type(error).__name__}"
                reply = error_response(500, text, hint="report it with the line in service.log")
                await reply(scope, receive, send)


def at_start(send: Send, does: Callable[[Event], object]) -> Send:
    """Return ``send``, with something done to the event that an answer begins with."""

    async def watched(event: Event) -> None:
        if event["type"] == "http.response.start":
            does(event)
        await send(event)

    return watched


def describe_fault(error: BaseException) -> str:
    """The kind of a fault and where it arose, without its text.

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


def _tell_error(_: Request, error: KdsError) -> JSONResponse:
    status = status_of(error)
    headers = {"Retry-After": str(RETRY_AFTER_S)} if status == 503 else None
    return error_response(
        status, error.message, where=error.where, hint=error.hint, headers=headers
    )


def _tell_faults(_: Request, error: RequestValidationError) -> JSONResponse:
    faults = error.errors()
    if any(fault["type"] == _JSON_INVALID for fault in faults):
        return error_response(400, "the body is no JSON", where="body", hint="send one JSON object")
    first, *others = faults[:_SHOWN]
    if first["type"] in _NOT_READ_AS_JSON and _place(first) == "body":
        hint = "send one JSON object with the header `Content-Type: application/json`"
        return error_response(422, "the body is no JSON object", where="body", hint=hint)
    told = [_fault(first), *(f"{_place(fault)} {_fault(fault)}" for fault in others)]
    hint = _HINTS.get(first["type"], "correct it; /openapi.json says what is accepted")
    return error_response(422, "; ".join(told), where=_place(first), hint=hint)


def _tell_status(_: Request, error: HTTPException) -> JSONResponse:
    return error_response(
        error.status_code, str(error.detail), hint="see /openapi.json", headers=error.headers
    )


def _fault(fault: Mapping[str, Any]) -> str:
    """What is wrong with a value, without the place."""
    given = fault.get("ctx", {})
    text = _FAULTS.get(fault["type"])
    return text.format(**given) if text else str(fault["msg"]).lower()


def _place(fault: Mapping[str, Any]) -> str:
    return ".".join(str(part) for part in fault["loc"])
