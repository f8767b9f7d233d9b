"""The workspace of a request; parameters and documentation that operations share."""

import os
from collections.abc import Callable, Mapping
from typing import Annotated, Any, Final
from urllib.parse import unquote_to_bytes

from fastapi import Depends, Query, Request
from starlette.responses import Response

from kds.brain.context.conversations import NAME_LIMIT
from kds.brain.errors import KdsError
from kds.brain.store.team import Person
from kds.hooks.call import WORKSPACE_HEADER
from kds.service.errors import ServiceError, tell_error
from kds.service.layers import UNCOUNTED, AsgiApp, Receive, Scope, Send
from kds.service.models import ErrorReply
from kds.service.security import PERSON, WORKSPACE
from kds.service.workspaces import ServedWorkspace, Workspaces

_ERRORS: Final[Mapping[int, str]] = {
    400: "The message, name or body cannot be used, or no workspace is named.",
    401: "No valid token (loopback TCP only).",
    403: "`Host` or `Origin` is not this machine (loopback TCP only).",
    404: "Unknown workspace, prompt or session.",
    409: "Conflict: an id in use, a memory that is off.",
    413: "The body or the message is too large.",
    422: "The body or a parameter does not match the schema.",
    500: "A fault of the service: a full disk, a defect in KDS.",
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
SERVED: Final = "kds.served"
"""Key of the ASGI scope: the opened workspace that the request is about."""

Refuse = Callable[[Request, KdsError], Response]


class WorkspaceDoor:
    """ASGI layer: opens the workspace that a request is about, and keeps it open meanwhile.

    A door in front may know it; else the header names it, else there may be a default.
    """

    def __init__(self, app: AsgiApp, workspaces: Workspaces, refuse: Refuse = tell_error) -> None:
        self._app = app
        self._workspaces = workspaces
        self._refuse = refuse

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Refuse when it does not load, or pass the request on."""
        if scope["type"] != "http" or scope["path"] == UNCOUNTED:
            await self._app(scope, receive, send)
            return
        request = Request(scope)
        root = scope.get(WORKSPACE) or named_root(request) or self._workspaces.default
        if root is None:
            await self._app(scope, receive, send)
            return
        try:
            served = await self._workspaces.open(root)
        except KdsError as error:
            await self._refuse(request, error)(scope, receive, send)
            return
        scope[SERVED] = served
        served.attendance.enter()
        try:
            await self._app(scope, receive, send)
        finally:
            served.attendance.leave()


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


def documented(model: Any, *statuses: int, success: int = 200) -> dict[int | str, dict[str, Any]]:
    """The documentation of an operation's replies: the good one, and every error it may have."""
    errors: dict[int | str, dict[str, Any]] = {
        status: {"model": ErrorReply, "description": _ERRORS[status]}
        for status in sorted({*statuses, *_ANYWHERE})
    }
    return {success: {"model": model, "description": "Done."}, **errors}
