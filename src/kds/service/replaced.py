"""A service whose installation was replaced under it: it finishes what it has, and ends.

pip takes an installation away and puts another in its place while services run. What a service has
loaded goes on working; what it would still read is of another version, or not there. So it refuses
new requests (status 503 with ``where`` REPLACED, at which clients do the work themselves or start
the new version) and stops.
"""

import os
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Final

from kds.brain import installation
from kds.service.errors import error_response
from kds.service.layers import AsgiApp, Event, Receive, Scope, Send
from kds.service.service_client import REPLACED

Mark = tuple[tuple[str, int, int, int], ...]

_ROOT: Final = Path(installation.__file__).parent.parent
_CODE: Final = (".py", ".yaml", ".md", ".npz", ".json", ".html", ".sql")
_SENTINELS: Final = ("__init__.py", "brain/turn.py", "router/english/concepts.yaml")


class Installation:
    """Knows whether the files that this process was started from are still there."""

    def __init__(self, root: Path = _ROOT) -> None:
        self._root = root
        self._few = tuple(root / name for name in _SENTINELS)
        self._quick = _mark(self._few)
        self._whole = _mark(self._files())

    def is_replaced(self) -> bool:
        """Look at three files: pip replaces all of them, or none. Takes some ten microseconds."""
        return _mark(self._few) != self._quick

    def is_changed(self) -> bool:
        """Look at all files, which finds single ones that were edited. Takes some milliseconds."""
        return _mark(self._files()) != self._whole

    def _files(self) -> Iterator[Path]:
        for folder, inner, names in os.walk(self._root, followlinks=True):
            inner[:] = [name for name in inner if name != "__pycache__"]
            yield from (Path(folder, name) for name in names if name.endswith(_CODE))


class CurrentInstallation:
    """ASGI layer: refuses requests once the installation was replaced, and has the service end."""

    def __init__(self, app: AsgiApp, installation: Installation, end: Callable[[], object]) -> None:
        self._app = app
        self._installation = installation
        self._end = end

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Run the layers below while this is the installation; its faults are no answers."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        if self._installation.is_replaced():
            await self._refuse(scope, receive, send)
            return
        if not await self._answered(scope, receive, send):
            await self._refuse(scope, receive, send)

    async def _answered(self, scope: Scope, receive: Receive, send: Send) -> bool:
        """Answer the request; False where it failed because the installation was replaced."""
        failed = False

        async def watched(event: Event) -> None:
            nonlocal failed
            if event["type"] == "http.response.start" and event["status"] >= 500:
                failed = self._installation.is_replaced()
            if not failed:
                await send(event)

        try:
            await self._app(scope, receive, watched)
        except Exception:
            if not self._installation.is_replaced():
                raise
            return False
        return not failed

    async def _refuse(self, scope: Scope, receive: Receive, send: Send) -> None:
        self._end()
        refusal = error_response(
            503,
            "this service was started from an installation that was replaced",
            where=REPLACED,
            hint="ask again: the next command starts the new one",
            headers={"Retry-After": "1", "Connection": "close"},
        )
        await refusal(scope, receive, send)


def _mark(paths: Iterable[Path]) -> Mark:
    return tuple(sorted(_state(path) for path in paths))


def _state(path: Path) -> tuple[str, int, int, int]:
    try:
        found = path.stat()
    except OSError:  # gone: a state like any other
        return str(path), -1, -1, -1
    return str(path), found.st_mtime_ns, found.st_size, found.st_ino
