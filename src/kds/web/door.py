"""The door of the page: this machine alone, by a link that works once, then by a cookie.

Loopback TCP is open to every user and web page of the machine. What is looked at, in this order:
`Host` and `Origin` (`kds.service.security`), `Sec-Fetch-Site`, the cookie. Only static files,
which say nothing of anybody, are served without one. Before all that, where the system tells whose
process asks: it has to be this user's.
"""

from typing import Final
from urllib.parse import parse_qs

from starlette.datastructures import Headers, MutableHeaders
from starlette.requests import cookie_parser
from starlette.responses import RedirectResponse, Response

from kds.service.layers import AsgiApp, Event, Receive, Scope, Send, at_start
from kds.service.security import WORKSPACE, neighbour_is_trusted, origin_fault
from kds.web.assets import PREFIX
from kds.web.page_trouble import Trouble
from kds.web.visitors import Visitors

VISITOR: Final = "kds.visitor"
"""Key of the ASGI scope: the browser that asks."""

LOGIN: Final = "/login"

POLICY: Final = (
    "default-src 'self'; object-src 'none'; base-uri 'none'; form-action 'self'; "
    "frame-ancestors 'none'"
)

HEADERS: Final = {
    "Content-Security-Policy": POLICY,
    "X-Frame-Options": "DENY",
    "X-Content-Type-Options": "nosniff",
    # Not `no-referrer`: with that browsers send `Origin: null` with the forms of our own pages.
    "Referrer-Policy": "same-origin",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
}


class Door:
    """ASGI layer: lets in who may, and gives every answer the headers that keep it safe."""

    def __init__(self, app: AsgiApp, static: AsgiApp, visitors: Visitors, port: int,
                 trouble: Trouble) -> None:  # fmt: skip
        self._app = app
        self._static = static
        self._visitors = visitors
        self._cookie = f"kds-{port}"  # cookies know no ports: two services must not share one
        self._trouble = trouble

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Refuse, log in, or pass the request on with its visitor."""
        await self._chosen(scope)(scope, receive, at_start(send, _guard))

    def leave(self, cookies: dict[str, str]) -> Response:
        """Log a browser out."""
        self._visitors.leave(cookies.get(self._cookie, ""))
        response = self._trouble.page(200, "You are logged out.", hint="to come back: kds web")
        response.delete_cookie(self._cookie, path="/", httponly=True, samesite="strict")
        return response

    def _chosen(self, scope: Scope) -> AsgiApp:
        headers = Headers(scope=scope)
        if (fault := origin_fault(headers)) is not None:
            where, hint = fault
            return self._trouble.page(
                403, f"Refused: {where} is not this machine.", where=where, hint=hint
            )
        if not neighbour_is_trusted(scope["client"], scope["server"]):
            return self._trouble.page(403, "Refused: another user of this machine asks.")
        if _is_embedded(headers):
            return self._trouble.page(403, "Refused: a page from elsewhere wants this in it.")
        if scope["path"].startswith(PREFIX):
            return self._static
        if scope["path"] == LOGIN and scope["method"] == "GET":
            return self._login(scope)
        cookie = cookie_parser(headers.get("cookie", "")).get(self._cookie, "")
        visitor = self._visitors.find(cookie)
        if visitor is None:
            return self._trouble.stranger()
        scope[VISITOR], scope[WORKSPACE] = visitor, visitor.root
        return self._app

    def _login(self, scope: Scope) -> Response:
        asked = parse_qs(scope.get("query_string", b"").decode("ascii", "replace"))
        cookie = self._visitors.enter(asked.get("token", [""])[0])
        if cookie is None:
            return self._trouble.page(
                403,
                "This link was used already, or is too old.",
                hint="each link works once, for five minutes; get another: kds web",
            )
        response = RedirectResponse("/", 303)
        response.set_cookie(self._cookie, cookie, path="/", httponly=True, samesite="strict")
        return response


def _is_embedded(headers: Headers) -> bool:
    """Whether a browser says that a page of elsewhere asks, without going here itself.

    A server at another port of this machine is elsewhere, but `SameSite` does not know that.
    """
    elsewhere = headers.get("sec-fetch-site") in ("cross-site", "same-site")
    return elsewhere and headers.get("sec-fetch-dest") != "document"


def _guard(begun: Event) -> None:
    headers = MutableHeaders(raw=begun["headers"])
    for name, value in HEADERS.items():
        headers[name] = value
    headers.setdefault("Cache-Control", "no-store")
