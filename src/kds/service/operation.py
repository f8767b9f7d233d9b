"""Parameters, workers and documentation that the operations of the HTTP side share."""

from collections.abc import Mapping
from typing import Annotated, Any, Final

from fastapi import Query, Request

from kds.brain.context.conversations import NAME_LIMIT
from kds.brain.store.team import Person
from kds.service.models import PATH_LIMIT, ErrorReply
from kds.service.security import PERSON, WORKSPACE
from kds.service.worker import Worker
from kds.service.workspaces import ServedWorkspace, Workspaces

_ERRORS: Final[Mapping[int, str]] = {
    400: "The message, name or body cannot be used.",
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
WorkspaceQuery = Annotated[
    str | None,
    Query(
        min_length=1,
        max_length=PATH_LIMIT,
        description="Root of a served workspace; without it, that of the socket or token.",
    ),
]


def served_workspace(request: Request, root: str | None) -> ServedWorkspace:
    """The workspace that a request is for. Raises NotServedError."""
    workspaces: Workspaces = request.app.state.workspaces
    served = workspaces.find(root, default=request.scope.get(WORKSPACE))
    person: Person | None = request.scope.get(PERSON)
    return served if person is None else served.people.find(person)


def router_worker(request: Request) -> Worker:
    """The thread that routes, and answers queries when nothing is to be routed."""
    worker: Worker = request.app.state.worker
    return worker


def archive_worker(request: Request) -> Worker:
    """The thread that looks after sessions: erasing one may take seconds, and no hook waits."""
    worker: Worker = request.app.state.archivist
    return worker


def documented(model: Any, *statuses: int, success: int = 200) -> dict[int | str, dict[str, Any]]:
    """The documentation of an operation's replies: the good one, and every error it may have."""
    errors: dict[int | str, dict[str, Any]] = {
        status: {"model": ErrorReply, "description": _ERRORS[status]}
        for status in sorted({*statuses, *_ANYWHERE})
    }
    return {success: {"model": model, "description": "Done."}, **errors}
