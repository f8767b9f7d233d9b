"""Templates, static files and pages of errors.

Everything in a template is escaped, and a name that does not exist is an error, not an empty place.
Static files are at addresses that change with their content: browsers may keep them."""

import hashlib
import mimetypes
from collections.abc import Sequence
from datetime import datetime
from pathlib import Path
from typing import Any, Final

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup
from starlette.applications import Starlette
from starlette.middleware import Middleware
from starlette.middleware.gzip import GZipMiddleware
from starlette.requests import Request
from starlette.responses import HTMLResponse, Response
from starlette.routing import Mount
from starlette.staticfiles import StaticFiles
from starlette.types import ASGIApp

from kds.brain.clock import minute, moment
from kds.brain.errors import KdsError
from kds.brain.installation import kds_version
from kds.service.errors import describe_fault
from kds.service.requests import internal_error, status_of

STATIC: Final = Path(__file__).parent / "static"
PREFIX: Final = "/static/"

_KEPT: Final = "public, max-age=31536000, immutable"
_DIGITS: Final = 12
"""Of the hash in the addresses: it tells versions apart, nothing more."""

mimetypes.add_type("text/javascript", ".js")  # else what the system says, which may be text/plain


class Assets(StaticFiles):
    """Every static file of the package."""

    def __init__(self) -> None:
        super().__init__(directory=STATIC, follow_symlink=True)  # an editable install has links
        content = (path.read_bytes() for path in sorted(STATIC.rglob("*.*")))
        digest = hashlib.sha256(b"".join(content)).hexdigest()[:_DIGITS]
        self._place = f"{PREFIX}{digest}"

    def address(self, name: str) -> str:
        """Where a file is, for templates."""
        return f"{self._place}/{name}"

    def squeezed(self) -> ASGIApp:
        """What answers with a file, and with 404 to everything else."""
        gzip = Middleware(GZipMiddleware, minimum_size=0)
        return Starlette(routes=[Mount(self._place, self)], middleware=[gzip])

    def file_response(self, *given: Any, **named: Any) -> Response:
        """A file; it never changes at its address."""
        response = super().file_response(*given, **named)
        response.headers["Cache-Control"] = _KEPT
        return response


def _time(at: datetime) -> Markup:
    """A moment in UTC; a script shows it in the time of the reader."""
    return Markup('<time datetime="{}">{}</time>').format(moment(at), minute(at))


TEMPLATES: Final = Path(__file__).parent / "templates"

HTMX_CONFIG: Final = (
    '{"includeIndicatorStyles":false,"allowEval":false,"selfRequestsOnly":true,'
    '"historyCacheSize":0,"historyRestoreAsHxRequest":false,'
    '"responseHandling":[{"code":"204","swap":false},{"code":"...","swap":true}]}'
)
"""No style and no code of htmx's own making, which the policy would refuse; errors are shown;
nothing of a page is kept in the browser."""


class Renderer:
    """Renders the templates of the package."""

    def __init__(self, assets: Assets, navigation: Sequence[object]) -> None:
        """What stands in the ``navigation`` has a ``label`` and a ``path``."""
        self._environment = Environment(
            loader=FileSystemLoader(TEMPLATES),
            autoescape=True,
            undefined=StrictUndefined,
            trim_blocks=True,
            lstrip_blocks=True,
        )
        self._environment.globals.update(
            asset=assets.address,
            navigation=tuple(navigation),
            version=kds_version(),
            htmx_config=HTMX_CONFIG,
        )
        self._environment.filters["moment"] = _time

    def render(self, template: str, values: dict[str, object]) -> str:
        """Fill a template in. Raises jinja2's errors, which are faults of ours."""
        return self._environment.get_template(template).render(values)


TOO_LARGE: Final = "What was sent is too large for the page."
BY_COMMAND: Final = (
    "send at most 64 MB at once, or use `kds docs add FILE` and `kds memory import FILE`"
)

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
        """There is no such page, not for this method, or not for so much."""
        status = getattr(error, "status_code", 404)
        if status == 413:
            return self._told(request, status, KdsError(TOO_LARGE, hint=BY_COMMAND))
        known = KdsError("There is no such page.", where=request.url.path, hint="go to /chat")
        return self._told(request, status, known)

    async def fault(self, request: Request, error: Exception) -> Response:
        """A fault of ours; the log gets its place, the page only its kind."""
        request.app.state.log(f"internal error in {request.url.path}: {describe_fault(error)}")
        return self._told(request, 500, internal_error(error))

    def _told(self, request: Request, status: int, error: KdsError) -> Response:
        """A page of its own; with htmx a message for the page that is open."""
        if HTMX not in request.headers:
            return self.page(status, error.message, where=error.where, hint=error.hint)
        sends = request.headers.get("hx-target") == "turns"  # from the composer: beside the text
        where = {"HX-Retarget": "#refused", "HX-Reswap": "innerHTML"}
        headers = where if sends else {"HX-Retarget": "#alerts", "HX-Reswap": "beforeend"}
        return HTMLResponse(
            self._renderer.render("message.html", {"error": error}), status, headers
        )
