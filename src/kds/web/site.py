"""The pages of the web, put together behind `AuthMiddleware`."""

from collections import defaultdict
from dataclasses import dataclass
from itertools import chain
from typing import Final

from starlette.applications import Starlette
from starlette.datastructures import State
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.middleware.gzip import GZipMiddleware
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response
from starlette.routing import Route

from kds.brain.errors import KdsError
from kds.documents.uploads import ReadingJob
from kds.service.requests import BODY_LIMIT, BodyLimit
from kds.service.routes import Site
from kds.web import chat_page, documents_page, memory_page, settings_page
from kds.web.auth import LOGIN, AuthMiddleware, Visitors
from kds.web.rendering import Assets, Renderer
from kds.web.request_context import THEME, THEMES, RequestContext, get, path_of, post
from kds.web.talks import Talks

UPLOAD_LIMIT: Final = 64 * BODY_LIMIT
"""Bytes of the files that a form sends: an export of 100,000 messages has 60 MB."""

SQUEEZED: Final = 600
"""Bytes from which an answer is compressed: below, it fits a packet anyhow."""

YEAR_S: Final = 365 * 24 * 3600


@dataclass(frozen=True, slots=True)
class Page:
    """A noun of the navigation: its label, where it begins, all of its routes."""

    label: str
    path: str
    routes: tuple[Route, ...]


PAGES: Final = (
    Page("Chat", "/chat", chat_page.routes),
    Page("Memory", "/memory", memory_page.routes),
    Page("Documents", "/documents", documents_page.routes),
    Page("Analytics", "/analytics", memory_page.analytics_routes),
    Page("Settings", "/settings", settings_page.routes),
)
"""In the order of the navigation."""


def open_site(state: State, port: int) -> Site:
    """The pages over the state of the service's application, at a port."""
    assets, visitors, talks = Assets(), Visitors(), Talks()
    renderer = Renderer(assets, PAGES)
    app = Starlette(
        routes=[
            Route("/", _home),
            get("/alive", _alive),
            post("/theme", _theme),
            post("/logout", _logout),
            *(route for page in PAGES for route in page.routes),
        ],
        middleware=[
            Middleware(BodyLimit, limit=UPLOAD_LIMIT),
            Middleware(GZipMiddleware, minimum_size=SQUEEZED, compresslevel=4),
        ],
        exception_handlers={
            KdsError: renderer.tell, HTTPException: renderer.missing, Exception: renderer.fault,
        },
    )  # fmt: skip
    auth = AuthMiddleware(app, assets.squeezed(), visitors, port, renderer)
    jobs: dict[str, list[ReadingJob]] = defaultdict(list)  # by the root of their workspace
    own = {"talks": talks, "jobs": jobs, "auth": auth}
    app.state = State({**state._state, "renderer": renderer, **own})

    def stop() -> None:
        """Let everybody go who waits for an answer, and read no further."""
        talks.stop()
        for job in chain.from_iterable(jobs.values()):
            job.stop()

    return Site(auth, lambda root: f"{LOGIN}?token={visitors.link(root)}", stop)


async def _home(_: Request) -> Response:
    return RedirectResponse(PAGES[0].path, 303)


async def _alive(_: RequestContext) -> Response:
    """Asked while somebody uses a page without sending anything: the service is not idle."""
    return Response(status_code=204)


async def _theme(context: RequestContext) -> Response:
    """Keep light or dark in a cookie, so that the page comes as it is to look."""
    chosen = context.text("theme")
    response = context.go(path_of(context.text("from")))
    if chosen in THEMES:
        response.set_cookie(
            THEME, chosen, max_age=YEAR_S, path="/", httponly=True, samesite="strict"
        )
    return response


async def _logout(context: RequestContext) -> Response:
    auth: AuthMiddleware = context.request.app.state.auth
    return auth.leave(context.request.cookies)
