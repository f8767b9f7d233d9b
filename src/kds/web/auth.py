"""Who may see the page: this machine alone, by a link that works once, then by a cookie.

Loopback TCP is open to every user and web page of the machine. What is looked at, in this order:
`Host` and `Origin` (`kds.service.security`), where the system tells it whose process asks (it has
to be this user's), `Sec-Fetch-Site`, the cookie. Only static files, which say nothing of anybody,
are served without one. Links and cookies are held in memory: when the service ends, everybody is
logged out.
"""

import hashlib
import secrets
import time
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from typing import Final
from urllib.parse import parse_qs

from starlette.datastructures import Headers, MutableHeaders
from starlette.requests import cookie_parser
from starlette.responses import RedirectResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from kds.brain.errors import KdsError
from kds.brain.memory.memory_store import Archive
from kds.service.errors import ForbiddenError
from kds.service.requests import WORKSPACE
from kds.service.security import check_origin, neighbour_is_trusted
from kds.web.rendering import PREFIX, Renderer

LINK_S: Final = 300.0
"""Seconds that a link is good for: time enough to copy it to another terminal."""

VISIT_S: Final = 12 * 3600.0
"""Seconds without a request after which a browser has to log in again: a working day."""

MOST_LINKS: Final = 32
MOST_VISITORS: Final = 64
"""Links and browsers that are remembered; a user has one or two, and the oldest goes first."""

VISITOR: Final = "kds.visitor"
"""Key of the ASGI scope: the browser that asks."""

LOGIN: Final = "/login"

HEADERS: Final = {
    "Content-Security-Policy": "default-src 'self'; object-src 'none'; base-uri 'none'; "
    "form-action 'self'; frame-ancestors 'none'",
    "X-Frame-Options": "DENY",
    "X-Content-Type-Options": "nosniff",
    # Not `no-referrer`: with that browsers send `Origin: null` with the forms of our own pages.
    "Referrer-Policy": "same-origin",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
}


@dataclass(frozen=True, slots=True)
class Note:
    """What a page is to say: what was done (``path`` takes it back), or an error."""

    text: str
    path: str | None = None
    fields: tuple[tuple[str, str], ...] = ()
    error: KdsError | None = None


@dataclass(slots=True)
class Visitor:
    """A browser that was let in: to which workspace, and what proves that a form is ours."""

    root: str
    csrf: str
    seen: float
    notes: list[Note] = field(default_factory=list)
    """What the next page is to say."""
    erased: dict[str, tuple[float, Archive]] = field(default_factory=dict)
    """Sessions that can be brought back, by a name for each: until when, by the monotonic clock."""
    refused: dict[str, str] = field(default_factory=dict)
    """What was typed into a form that was refused: the next page has it still."""


class Visitors:
    """The links that are open and the browsers that are in. For one thread, that of the loop."""

    def __init__(self, *, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._links: OrderedDict[str, tuple[str, float]] = OrderedDict()
        self._visitors: OrderedDict[str, Visitor] = OrderedDict()

    def link(self, root: str) -> str:
        """A token that lets one browser in to the workspace ``root``."""
        token = secrets.token_urlsafe(32)
        self._links[_key(token)] = (root, self._clock() + LINK_S)
        while len(self._links) > MOST_LINKS:
            self._links.popitem(last=False)
        return token

    def enter(self, token: str) -> str | None:
        """Take the token for a cookie; None when it was used, is too old or never was."""
        root, until = self._links.pop(_key(token), ("", 0.0))
        if not root or self._clock() > until:
            return None
        cookie = secrets.token_urlsafe(32)
        self._visitors[_key(cookie)] = Visitor(root, secrets.token_urlsafe(32), self._clock())
        while len(self._visitors) > MOST_VISITORS:
            self._visitors.popitem(last=False)
        return cookie

    def find(self, cookie: str) -> Visitor | None:
        """The browser that has this cookie, if it was seen lately."""
        found = self._visitors.get(_key(cookie))
        if found is None or self._clock() - found.seen > VISIT_S:
            self.leave(cookie)
            return None
        found.seen = self._clock()
        self._visitors.move_to_end(_key(cookie))
        return found

    def leave(self, cookie: str) -> None:
        """Forget a browser."""
        self._visitors.pop(_key(cookie), None)


def _key(secret: str) -> str:
    """Secrets are looked up by their hash: how long that takes says nothing of them."""
    return hashlib.sha256(secret.encode(errors="surrogatepass")).hexdigest()


class AuthMiddleware:
    """ASGI layer: lets in who may, and gives every answer the headers that keep it safe."""

    def __init__(self, app: ASGIApp, static: ASGIApp, visitors: Visitors, port: int,
                 renderer: Renderer) -> None:  # fmt: skip
        self._app = app
        self._static = static
        self._visitors = visitors
        self._cookie = f"kds-{port}"  # cookies know no ports: two services must not share one
        self._refuse = renderer.trouble

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Refuse, log in, or pass the request on with its visitor."""

        async def guarded(event: Message) -> None:
            if event["type"] == "http.response.start":
                headers = MutableHeaders(raw=event["headers"])
                headers.update(HEADERS)
                headers.setdefault("Cache-Control", "no-store")
            await send(event)

        await self._chosen(scope)(scope, receive, guarded)

    def leave(self, cookies: dict[str, str]) -> Response:
        """Log a browser out."""
        self._visitors.leave(cookies.get(self._cookie, ""))
        response = RedirectResponse(LOGIN, 303)
        response.delete_cookie(self._cookie, path="/", httponly=True, samesite="strict")
        return response

    def _chosen(self, scope: Scope) -> ASGIApp:
        headers = Headers(scope=scope)
        refuse = partial(self._refuse, headers=headers)
        try:
            check_origin(headers)
        except ForbiddenError as error:
            text = f"R{error.message[1:]}."
            return refuse(403, text, where=error.where, hint=error.hint)
        if not neighbour_is_trusted(scope["client"], scope["server"]):
            return refuse(403, "Refused: another user of this machine asks.")
        # A server at another port of this machine is elsewhere, but `SameSite` does not know that.
        elsewhere = headers.get("sec-fetch-site") in ("cross-site", "same-site")
        if elsewhere and headers.get("sec-fetch-dest") != "document":
            return refuse(403, "Refused: a page from elsewhere wants this in it.")
        if scope["path"].startswith(PREFIX):
            return self._static
        if scope["path"] == LOGIN and scope["method"] == "GET":
            return self._login(scope)
        cookie = cookie_parser(headers.get("cookie", "")).get(self._cookie, "")
        visitor = self._visitors.find(cookie)
        if visitor is None:
            hint = "run `kds web` in the workspace, and open the link that it prints"
            # A browser keeps a strict cookie back when a link elsewhere led here: once, not twice.
            return refuse(401, "You are not logged in.", hint=hint, retry=True)
        scope[VISITOR], scope[WORKSPACE] = visitor, visitor.root
        return self._app

    def _login(self, scope: Scope) -> Response:
        asked = parse_qs(scope.get("query_string", b"").decode("ascii", "replace"))
        if not asked:
            return self._refuse(200, "You are logged out.", hint="to come back: kds web")
        cookie = self._visitors.enter(asked.get("token", [""])[0])
        if cookie is None:
            hint = "each link works once, for five minutes; get another: kds web"
            return self._refuse(403, "This link was used already, or is too old.", hint=hint)
        response = RedirectResponse("/", 303)
        response.set_cookie(self._cookie, cookie, path="/", httponly=True, samesite="strict")
        return response
