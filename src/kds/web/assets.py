"""The static files of the page, at addresses that change with what is in them: they may be kept."""

import hashlib
import mimetypes
from pathlib import Path
from typing import Any, Final

from starlette.applications import Starlette
from starlette.middleware import Middleware
from starlette.middleware.gzip import GZipMiddleware
from starlette.responses import Response
from starlette.routing import Mount
from starlette.staticfiles import StaticFiles

from kds.service.layers import AsgiApp

FOLDER: Final = Path(__file__).parent / "static"
PREFIX: Final = "/static/"

_KEPT: Final = "public, max-age=31536000, immutable"
_DIGITS: Final = 12
"""Of the hash in the addresses: it tells versions apart, nothing more."""

mimetypes.add_type("text/javascript", ".js")  # else what the system says, which may be text/plain


class Assets(StaticFiles):
    """Every static file of the package."""

    def __init__(self) -> None:
        super().__init__(directory=FOLDER, follow_symlink=True)  # an editable install has links
        content = (path.read_bytes() for path in sorted(FOLDER.rglob("*.*")))
        digest = hashlib.sha256(b"".join(content)).hexdigest()[:_DIGITS]
        self._place = f"{PREFIX}{digest}"

    def address(self, name: str) -> str:
        """Where a file is, for templates."""
        return f"{self._place}/{name}"

    def squeezed(self) -> AsgiApp:
        """What answers with a file, and with 404 to everything else."""
        gzip = Middleware(GZipMiddleware, minimum_size=0)
        return Starlette(routes=[Mount(self._place, self)], middleware=[gzip])

    def file_response(self, *given: Any, **named: Any) -> Response:
        """A file; it never changes at its address."""
        response = super().file_response(*given, **named)
        response.headers["Cache-Control"] = _KEPT
        return response
