"""What goes wrong, told to whoever looks at a page: what, where, and how to mend it."""

from typing import Final

from starlette.requests import Request
from starlette.responses import HTMLResponse, Response

from kds.brain.errors import KdsError
from kds.service.errors import status_of
from kds.web.rendering import Renderer

HTMX: Final = "hx-request"
"""The header by which htmx says that it asks for a part of a page."""


class Trouble:
    """Makes the pages of errors; with htmx, messages that join those of the page."""

    def __init__(self, renderer: Renderer) -> None:
        self._renderer = renderer

    def page(
        self,
        status: int,
        message: str,
        *,
        where: str | None = None,
        hint: str | None = None,
        retry: bool = False,
    ) -> Response:
        """A page of its own, for anybody; ``retry``: the browser asks once more by itself."""
        values = {"message": message, "where": where, "hint": hint, "retry": retry}
        return HTMLResponse(self._renderer.render("trouble.html", dict(values)), status)

    def stranger(self) -> Response:
        """For a browser without a cookie, or with one that counts no more."""
        hint = "run `kds web` in the workspace, and open the link that it prints"
        # A browser keeps a strict cookie back when a link elsewhere led here: once, not twice.
        return self.page(401, "You are not logged in.", hint=hint, retry=True)

    def tell(self, request: Request, error: Exception) -> Response:
        """Say an error in the form that was asked for."""
        if not isinstance(error, KdsError):  # the handler is registered for nothing else
            raise error
        return self._told(request, status_of(error), error)

    def missing(self, request: Request, error: Exception) -> Response:
        """There is no such page, or not for this method."""
        status = getattr(error, "status_code", 404)
        known = KdsError("There is no such page.", where=request.url.path, hint="go to /chat")
        return self._told(request, status, known)

    def fault(self, request: Request, error: Exception) -> Response:
        """A fault of ours; the log gets its place (`LastResort`), the page only its kind."""
        told = KdsError(
            f"internal error: {type(error).__name__}",
            hint="report it with the line in `kds service logs`",
        )
        return self._told(request, 500, told)

    def _told(self, request: Request, status: int, error: KdsError) -> Response:
        """A page of its own; with htmx a message for the page that is open."""
        if HTMX not in request.headers:
            return self.page(status, error.message, where=error.where, hint=error.hint)
        headers = {"HX-Retarget": "#alerts", "HX-Reswap": "beforeend"}
        return HTMLResponse(
            self._renderer.render("message.html", {"error": error}), status, headers
        )
