"""A service whose installation was replaced under it: it finishes what it has, and ends.

pip takes an installation away and puts another in its place while services run. What a service has
loaded goes on working; what it would still read is of another version, or not there. So it refuses
new requests (status 503 with ``where`` REPLACED, at which clients do the work themselves or start
the new version) and stops.
"""

from collections.abc import Callable

from kds.service.errors import error_response
from kds.service.installed import Installation
from kds.service.layers import AsgiApp, Event, Receive, Scope, Send
from kds.service.service_client import REPLACED


class CurrentInstallation:
    """ASGI layer: refuses requests once the installation was replaced, and has the service end."""

    def __init__(self, app: AsgiApp, installation: Installation, end: Callable[[], object]) -> None:
        self._app = app
        self._installation = installation
        self._end = end

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Run the layers below while this is the installation; its faults are not answers."""
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
