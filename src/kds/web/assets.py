"""The static files of the page: read once, named by their content, so that they may be kept."""

import gzip
import hashlib
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from starlette.requests import Request
from starlette.responses import Response

FOLDER: Final = Path(__file__).parent / "static"
PREFIX: Final = "/static/"

_KEPT: Final = "public, max-age=31536000, immutable"
_DIGITS: Final = 12
"""Of the hash in a file's address: it tells versions apart, nothing more."""

_TYPES: Final = {
    ".css": "text/css; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
    ".svg": "image/svg+xml",
    ".txt": "text/plain; charset=utf-8",
}


@dataclass(frozen=True, slots=True)
class Asset:
    """A file as it goes over the wire."""

    path: str
    kind: str
    content: bytes
    squeezed: bytes

    def response(self, *, squeeze: bool) -> Response:
        """The file, in the form that the browser takes."""
        headers = {"Cache-Control": _KEPT, "Vary": "Accept-Encoding"}
        if squeeze:
            headers["Content-Encoding"] = "gzip"
        body = self.squeezed if squeeze else self.content
        return Response(body, media_type=self.kind, headers=headers)


class Assets:
    """Every static file, by its name in the package and by its address."""

    def __init__(self) -> None:
        self._by_name = {
            path.relative_to(FOLDER).as_posix(): _asset(path)
            for path in sorted(FOLDER.rglob("*"))
            if path.suffix in _TYPES
        }
        self._by_path = {one.path: one for one in self._by_name.values()}

    def address(self, name: str) -> str:
        """Where a file is, for templates. Raises KeyError for one that there is not."""
        return self._by_name[name].path

    async def serve(self, request: Request) -> Response:
        """Answer with a file; it never changes at its address."""
        found = self._by_path.get(request.url.path)
        if found is None:
            return Response("no such file", 404, media_type="text/plain")
        return found.response(squeeze="gzip" in request.headers.get("accept-encoding", ""))


def _asset(path: Path) -> Asset:
    content = path.read_bytes()
    digest = hashlib.sha256(content).hexdigest()[:_DIGITS]
    name = path.relative_to(FOLDER).as_posix()
    squeezed = gzip.compress(content, mtime=0)
    return Asset(f"{PREFIX}{digest}/{name}", _TYPES[path.suffix], content, squeezed)
