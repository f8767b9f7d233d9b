"""The FastAPI application of the service, and how it is; /openapi.json describes all.

There is no /docs: the page would load its scripts from a content network, and KDS talks to
nobody. Routing runs on threads; the event loop only reads and writes.
"""

import os
import time
from collections.abc import Callable, Iterable
from contextlib import suppress
from pathlib import Path
from typing import Any, Final

from fastapi import APIRouter, Depends, FastAPI, Request

from kds.brain.clock import utc_now
from kds.brain.installation import kds_version
from kds.service.requests import (
    ERRORS,
    BodyLimit,
    Served,
    add_error_handlers,
    current,
    named_root,
)
from kds.service.routes import documents, hook, memory, query, turns
from kds.service.workspaces import Log, ServedWorkspace, Workspaces, is_same

DESCRIPTION: Final = """\
Routes developer chat of one machine's user: resolves what a message refers to, finds its intent,
and picks the agent's prompt; answers questions about documents and remembered conversations.
The header `Kds-Workspace` names the project that a request is about. Over the unix socket no token
is asked for; over loopback TCP every request needs `Authorization: Bearer`.
"""

_TOLD: Final = ("root", "turns", "reload", "settings_error", "problems", "warnings")
"""Of each open workspace; never a text, a token or a query."""


class Vitals:
    """The process: its version, age and memory."""

    def __init__(self) -> None:
        self.version = kds_version()
        self.pid = os.getpid()
        self.started_at = utc_now()
        self._started = time.monotonic()

    def report(
        self, workspaces: Iterable[ServedWorkspace], *, named: str | None = None
    ) -> dict[str, Any]:
        """The reply of /healthz; the status is that of the ``named`` workspace, if any.

        degraded: a changed file is wrong, and its earlier content stays in use.
        """
        each = [{name: getattr(one, name) for name in _TOLD} for one in workspaces]
        asked = [one for one in each if named is None or is_same(one["root"], named)]
        wrong = any(one["problems"] or one["reload"].error for one in asked)
        pages = None
        with suppress(OSError, ValueError, IndexError):  # a system that does not tell
            pages = int(Path("/proc/self/statm").read_text().split()[1])
        return {
            "status": "degraded" if wrong else "ok",
            "version": self.version,
            "pid": self.pid,
            "started_at": self.started_at,
            "uptime_s": round(time.monotonic() - self._started, 3),
            "rss_bytes": pages and pages * os.sysconf("SC_PAGE_SIZE"),
            "turns": sum(one["turns"] for one in each),
            "workspaces": each,
        }


health = APIRouter()


@health.get("/healthz")
async def healthz(request: Request) -> dict[str, Any]:
    """Tell how the service is: its process, the open workspaces, and whether a reload failed.

    Opens none. `status` is that of the named workspace, of all where none is named.
    """
    vitals: Vitals = request.app.state.vitals
    return vitals.report(request.app.state.workspaces, named=named_root(request))


@health.post("/open")
async def open_workspace(request: Request, served: Served) -> dict[str, Any]:
    """Open the named workspace, which takes a second, and tell how the service is."""
    return await healthz(request)


def make_app(
    workspaces: Workspaces,
    vitals: Vitals | None = None,
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
    app.state.vitals = vitals or Vitals()
    app.state.is_replaced = is_replaced
    app.state.site = app.state.mcp = None
    add_error_handlers(app)
    app.add_middleware(BodyLimit)
    rooms = (
        turns.router, hook.router, query.router, memory.sessions, memory.router,
        documents.router, turns.learning,
    )  # fmt: skip
    for router in (health, *rooms):
        app.include_router(router)
    return app
