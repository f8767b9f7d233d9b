"""The FastAPI application of the service, how it is, and its web page; /openapi.json describes all.

There is no /docs: the page would load its scripts from a content network, and KDS talks to
nobody. Routing runs on threads; the event loop only reads and writes.
"""

import asyncio
import os
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from fastapi import APIRouter, Depends, FastAPI, Request
from starlette.datastructures import State
from starlette.types import ASGIApp

from kds.brain.clock import utc_now
from kds.brain.installation import kds_version
from kds.service.errors import ConflictError
from kds.service.listening import Listeners, bind_page
from kds.service.requests import (
    ERRORS,
    BodyLimit,
    Served,
    add_error_handlers,
    current,
    named_root,
)
from kds.service.routes import hook, memory, query, team, turns
from kds.service.workspaces import Workspaces, is_same

DESCRIPTION: Final = """\
Routes developer chat of one machine's user: resolves what a message refers to, finds its intent,
and picks the agent's prompt; answers questions about documents and remembered conversations.
The header `Kds-Workspace` names the project that a request is about. Over the unix socket no token
is asked for; over loopback TCP every request needs `Authorization: Bearer`.
"""

_TOLD: Final = ("root", "turns", "reloads", "problems", "warnings")
"""Of each open workspace; never a text, a token or a query."""

router = APIRouter()


@router.get("/healthz")
async def healthz(request: Request) -> dict[str, Any]:
    """Tell how the service is: its process, the open workspaces, and what is wrong with files.

    Opens none. `status` is that of the named workspace, of all where none is named.
    """
    return health_of(request.app.state, named=named_root(request))


@router.post("/open")
async def open_workspace(request: Request, served: Served) -> dict[str, Any]:
    """Open the named workspace, which takes a second, and tell how the service is."""
    return await healthz(request)


@router.post("/web", tags=["web"])
async def open_web(request: Request, served: Served) -> dict[str, str]:
    """Open the web page, unless it is open, and let one browser in, once, within minutes."""
    host: SiteHost | None = request.app.state.site
    if host is None:
        raise ConflictError("this service has no web page", hint="start it: kds web")
    url, login = await host.open(served.root)
    return {"url": url, "login": login}


def health_of(state: State, *, named: str | None = None) -> dict[str, Any]:
    """The reply of /healthz; the status is that of the ``named`` workspace, if any.

    degraded: a file that does not load is left out, or invalid settings are ignored.
    """
    each = [{name: getattr(one, name) for name in _TOLD} for one in state.workspaces]
    asked = [one for one in each if named is None or is_same(one["root"], named)]
    wrong = any(one["problems"] for one in asked)
    pages = None
    with suppress(OSError, ValueError, IndexError):  # a system that does not tell
        pages = int(Path("/proc/self/statm").read_text().split()[1])
    return {
        "status": "degraded" if wrong else "ok",
        "version": kds_version(),
        "pid": os.getpid(),
        "started_at": state.started_at,
        "uptime_s": round((utc_now() - state.started_at).total_seconds(), 3),
        "rss_bytes": pages and pages * os.sysconf("SC_PAGE_SIZE"),
        "turns": sum(one["turns"] for one in each),
        "workspaces": each,
    }


@dataclass(frozen=True, slots=True)
class Site:
    """The web page, which a layer above this one makes (`kds.web`)."""

    app: ASGIApp
    """What answers at the listener."""
    admit: Callable[[str], str]
    """Return a path that lets one browser in to a workspace, once."""
    stop: Callable[[], None]
    """Release everybody who waits for an answer; from the event loop."""


MakeSite = Callable[[State, int], Site]
"""Makes the pages over the state of the service's application, for a port."""


class SiteHost:
    """Opens the web page of a service on loopback, and knows where it is."""

    def __init__(self, make: MakeSite, state: State, listeners: Listeners, noted: Path) -> None:
        """``noted`` is the file that keeps the port of the page."""
        self._make, self._state, self._listeners, self._noted = make, state, listeners, noted
        self._opening = asyncio.Lock()
        self._open: tuple[Site, str] | None = None

    async def open(self, root: str) -> tuple[str, str]:
        """Open the page unless it is open; returns its address, and a link that lets one in.

        Raises ServiceError when it cannot listen.
        """
        async with self._opening:
            if self._open is None:
                listener, address = bind_page(self._noted)
                try:
                    site = await asyncio.to_thread(self._make, self._state, address.port)
                except BaseException:
                    listener.close()
                    raise
                self._listeners.add(listener, site.app)
                self._open = site, address.url
        site, url = self._open
        return url, f"{url}{site.admit(root)}"

    def stop(self) -> None:
        """Release everybody who waits. The listener ends with the others."""
        if self._open is not None:
            self._open[0].stop()


def make_app(workspaces: Workspaces, *, is_replaced: Callable[[], bool] = bool) -> FastAPI:
    """Build the application over workspaces, which the caller closes.

    ``is_replaced`` tells whether the installation that this code is of was replaced.
    """
    app = FastAPI(
        title="KDS service", version=kds_version(), description=DESCRIPTION,
        docs_url=None, redoc_url=None, responses=ERRORS, dependencies=[Depends(current)],
    )  # fmt: skip
    own = {"workspaces": workspaces, "log": workspaces.log, "is_replaced": is_replaced,
           "started_at": utc_now(), "site": None, "mcp": None}  # fmt: skip
    app.state = State(own)
    add_error_handlers(app)
    app.add_middleware(BodyLimit)
    for one in (
        router, turns.router, hook.router, query.router, memory.sessions, memory.router,
        team.router,
    ):  # fmt: skip
        app.include_router(one)
    return app
