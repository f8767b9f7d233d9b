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
        self, status: int, message: str, *, where: str | None = None, hint: str | None = None
    ) -> Response:
        """A page of its own, for anybody."""
        values = {"message": message, "where": where, "hint": hint, "retry": False}
        return HTMLResponse(self._renderer.render("trouble.html", dict(values)), status)

    def stranger(self) -> Response:
        """For a browser without a cookie, or with one that counts no more."""
        values = {
            "message": "You are not logged in.",
            "where": None,
            "hint": "run `kds web` in the workspace, and open the link that it prints",
            # A browser keeps a strict cookie back when a link elsewhere led here: once, not twice.
            "retry": True,
        }
        return HTMLResponse(self._renderer.render("trouble.html", dict(values)), 401)

    def message(self, status: int, error: KdsError) -> Response:
        """A message for the page that is open."""
        values: dict[str, object] = {"error": error}
        headers = {"HX-Retarget": "#alerts", "HX-Reswap": "beforeend"}
        return HTMLResponse(self._renderer.render("message.html", values), status, headers)

    def tell(self, request: Request, error: Exception) -> Response:
        """Say an error in the form that was asked for."""
        if not isinstance(error, KdsError):  # the handler is registered for nothing else
            raise error
        status = status_of(error)
        if HTMX in request.headers:
            return self.message(status, error)
        return self.page(status, error.message, where=error.where, hint=error.hint)

    def missing(self, request: Request, error: Exception) -> Response:
        """There is no such page, or not for this method."""
        status = getattr(error, "status_code", 404)
        known = KdsError("There is no such page.", where=request.url.path, hint="go to /chat")
        if HTMX in request.headers:
            return self.message(status, known)
        return self.page(status, known.message, where=known.where, hint=known.hint)

    def fault(self, request: Request, error: Exception) -> Response:
        """A fault of ours; the log gets its place (`LastResort`), the page only its kind."""
        told = KdsError(
            f"internal error: {type(error).__name__}",
            hint="report it with the line in kds-brain/service.log",
        )
        if HTMX in request.headers:
            return self.message(500, told)
        return self.page(500, told.message, hint=told.hint)
