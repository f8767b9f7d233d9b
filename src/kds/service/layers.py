"""ASGI layers around the application: last resort, body size, installation, workspace."""

import os
from collections.abc import Callable
from contextlib import nullcontext
from typing import Annotated, Final
from urllib.parse import unquote_to_bytes

from fastapi import Depends
from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response

from kds.brain.errors import KdsError
from kds.brain.store.team import Person
from kds.hooks.call import REPLACED, WORKSPACE_HEADER
from kds.service.errors import ServiceError, describe_fault, error_response, tell_error
from kds.service.freshness import Installation
from kds.service.security import PERSON, WORKSPACE, AsgiApp, Event, Receive, Scope, Send, at_start
from kds.service.worker import Attendance
from kds.service.workspaces import ServedWorkspace, Workspaces

SERVED: Final = "kds.served"
"""Key of the ASGI scope: the opened workspace that the request is about."""

BODY_LIMIT: Final = 1_000_000
"""Bytes. A message at MESSAGE_LIMIT takes 600 kB when every character is escaped (`\\uXXXX`)."""

DRAIN_LIMIT: Final = 16 * BODY_LIMIT
"""Bytes of a body too large that are read and thrown away, so that a client that writes first
and reads afterwards sees the 413 instead of a broken connection."""

UNCOUNTED: Final = "/healthz"
"""A status line or a monitor that looks every minute must not keep the service alive."""


class LastResort:
    """A fault in KDS itself becomes a 500 without a trace, and one line of the log without text."""

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
                hint = "report it with the line in `kds service logs`"
                await error_response(500, text, hint=hint)(scope, receive, send)


class BodyLimit:
    """Hands a body on in one piece; one beyond the limit is a 413.

    Bytes are counted: a chunked body has no header that says its size.
    """

    def __init__(self, app: AsgiApp, *, limit: int = BODY_LIMIT) -> None:
        self._app = app
        self._limit = limit

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Read the body, then run the layers below."""
        body, size = bytearray(), 0
        try:
            async for chunk in Request(scope, receive).stream():
                size += len(chunk)
                if size <= self._limit:
                    body += chunk
                elif size > DRAIN_LIMIT:
                    break
        except ClientDisconnect:
            return
        if size > self._limit:
            reply = error_response(
                413,
                f"the body is larger than {self._limit:,} bytes",
                where="body",
                hint="send a shorter message: only its first 2,000 characters are analysed",
                headers={"Connection": "close"},
            )
            await reply(scope, receive, send)
            return
        events = iter([{"type": "http.request", "body": bytes(body), "more_body": False}])

        async def replay() -> Event:
            return next(events, None) or await receive()

        await self._app(scope, replay, send)


class CurrentInstallation:
    """Refuses requests once the installation was replaced, and has the service end.

    What a service has loaded goes on working; what it would still read is of another version. So it
    finishes what it has, and answers with status 503 and ``where`` REPLACED, at which clients do
    the work themselves or start the new version.
    """

    def __init__(self, app: AsgiApp, installation: Installation, end: Callable[[], object]) -> None:
        self._app = app
        self._installation = installation
        self._end = end

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Run the layers below while this is the installation; its faults are not answers."""
        refused = self._installation.is_replaced()

        async def watched(event: Event) -> None:
            nonlocal refused
            if event["type"] == "http.response.start" and event["status"] >= 500:
                refused = self._installation.is_replaced()
            if not refused:
                await send(event)

        if not refused:
            try:
                await self._app(scope, receive, watched)
            except Exception:
                refused = self._installation.is_replaced()
                if not refused:
                    raise
        if refused:
            self._end()
            refusal = error_response(
                503,
                "this service was started from an installation that was replaced",
                where=REPLACED,
                hint="ask again: the next command starts the new one",
                headers={"Retry-After": "1", "Connection": "close"},
            )
            await refusal(scope, receive, send)


class OpenWorkspace:
    """Opens the workspace that a request is about, and keeps it open meanwhile.

    A layer in front may know it; else the header names it, else there may be a default.
    """

    def __init__(
        self,
        app: AsgiApp,
        workspaces: Workspaces,
        attendance: Attendance,
        refuse: Callable[[Request, KdsError], Response] = tell_error,
    ) -> None:
        self._app = app
        self._workspaces = workspaces
        self._attendance = attendance
        self._refuse = refuse

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Refuse when it does not load, or pass the request on."""
        if scope["type"] != "http" or scope["path"] == UNCOUNTED:
            await self._app(scope, receive, send)
            return
        request = Request(scope)
        root = scope.get(WORKSPACE) or named_root(request) or self._workspaces.default
        with self._attendance:
            try:
                served = await self._workspaces.open(root) if root else None
            except KdsError as error:
                await self._refuse(request, error)(scope, receive, send)
                return
            scope[SERVED] = served
            with served.attendance if served else nullcontext():
                await self._app(scope, receive, send)


def named_root(request: Request) -> str | None:
    """The workspace that the header of a request names."""
    named = request.headers.get(WORKSPACE_HEADER)
    return os.fsdecode(unquote_to_bytes(named)) if named else None


def served_workspace(request: Request) -> ServedWorkspace:
    """The workspace that a request is about. Raises ServiceError when it names none."""
    served: ServedWorkspace | None = request.scope.get(SERVED)
    if served is None:
        raise ServiceError(
            "the request names no workspace",
            where=WORKSPACE_HEADER,
            hint=f"send the header `{WORKSPACE_HEADER}: /path/of/the/project`",
        )
    person: Person | None = request.scope.get(PERSON)
    return served if person is None else served.people.find(person)


async def _served(request: Request) -> ServedWorkspace:  # a plain function would get a thread
    return served_workspace(request)


Served = Annotated[ServedWorkspace, Depends(_served)]
"""The workspace that a request is about, as a parameter of an operation."""
