"""What every request passes: the size of its body, the installation, and its workspace."""

import os
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Annotated, Final
from urllib.parse import unquote_to_bytes

from fastapi import Depends, Request
from starlette.exceptions import HTTPException
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from kds.hooks.call import WORKSPACE_HEADER
from kds.service.errors import PERSON, ReplacedError, ServiceError
from kds.service.workspaces import ServedWorkspace, Workspaces

WORKSPACE: Final = "kds.workspace"
"""Key of the ASGI scope: root of the request's workspace, where the way in decides it."""

BODY_LIMIT: Final = 1_000_000
"""Bytes. A message at MESSAGE_LIMIT takes 600 kB when every character is escaped (`\\uXXXX`)."""

DRAIN_LIMIT: Final = 16 * BODY_LIMIT
"""Bytes of a body too large that are read and thrown away, so that a client that writes first
and reads afterwards sees the 413 instead of a broken connection."""


class BodyLimit:
    """Reading a body beyond the limit is a 413.

    Bytes are counted: a chunked body has no header that says its size. Starlette's limit closes
    the connection on a client that still writes, and answers in a form of its own.
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
            while event.get("more_body") and size <= DRAIN_LIMIT:
                event = await receive()
                size += len(event.get("body", b""))
            raise HTTPException(413, f"the body is larger than {self._limit:,} bytes")

        await self._app(scope, counted, send)


async def current(request: Request) -> None:
    """Refuse requests once the installation was replaced; the service ends.

    What a service has loaded goes on working; what it would still read is of another version.
    Clients do the work themselves then, or start the new version.
    """
    if request.app.state.is_replaced():
        raise ReplacedError


def named_root(request: Request) -> str | None:
    """The workspace that the header of a request names."""
    named = request.headers.get(WORKSPACE_HEADER)
    return os.fsdecode(unquote_to_bytes(named)) if named else None


@asynccontextmanager
async def opened(request: Request) -> AsyncIterator[ServedWorkspace]:
    """Open the workspace that a request is about, and keep it and the service open meanwhile.

    The way in may decide it, else the header names it, else there may be a default. Raises
    ServiceError when none is named, KdsError when it does not load.
    """
    workspaces: Workspaces = request.app.state.workspaces
    root = request.scope.get(WORKSPACE) or named_root(request) or workspaces.default
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


async def _served(request: Request) -> AsyncIterator[ServedWorkspace]:
    async with opened(request) as served:
        yield served


Served = Annotated[ServedWorkspace, Depends(_served)]
"""The workspace that a request is about, as a parameter of an operation."""
