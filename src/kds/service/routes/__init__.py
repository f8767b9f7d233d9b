"""The FastAPI application of the service; /openapi.json describes it.

There is no /docs: the page would load its scripts from a content network, and KDS talks to
nobody. Routing runs on threads; the event loop only reads and writes.
"""

from collections.abc import Callable
from typing import Final

from fastapi import Depends, FastAPI

from kds.brain.installation import kds_version
from kds.service.models import ERRORS
from kds.service.requests import BodyLimit, add_error_handlers, current
from kds.service.routes import health, hook, memory, query, sessions, turns
from kds.service.workspaces import Log, Workspaces

DESCRIPTION: Final = """\
Routes developer chat of one machine's user: resolves what a message refers to, finds its intent,
and picks the agent's prompt; answers questions about documents and remembered conversations.
The header `Kds-Workspace` names the project that a request is about. Over the unix socket no token
is asked for; over loopback TCP every request needs `Authorization: Bearer`.
"""


def make_app(
    workspaces: Workspaces,
    vitals: health.Vitals | None = None,
    *,
    is_replaced: Callable[[], bool] = lambda: False,
    log: Log = lambda line: None,
) -> FastAPI:
    """Build the application over workspaces, which the caller closes.

    ``is_replaced`` tells whether the installation that this code is of was replaced.
    """
    app = FastAPI(
        title="KDS service",
        version=kds_version(),
        description=DESCRIPTION,
        docs_url=None,
        redoc_url=None,
        responses=ERRORS,
        dependencies=[Depends(current)],
    )
    app.state.workspaces, app.state.log = workspaces, log
    app.state.vitals = vitals or health.Vitals()
    app.state.is_replaced = is_replaced
    app.state.site = None
    add_error_handlers(app)
    app.add_middleware(BodyLimit)
    for room in (health, turns, hook, query, sessions, memory):
        app.include_router(room.router)
    return app
