"""When nobody asks for a while: the end of a service that the user did not start by hand."""

import asyncio
import time
from collections.abc import Awaitable, Callable
from typing import Final

from kds.service.wire.errors import AsgiApp, Receive, Scope, Send

UNCOUNTED: Final = "/healthz"
"""A status line or a monitor that looks every minute must not keep the service alive."""


class Attendance:
    """Knows how long nobody has asked, and how many are being answered.

    ``clock`` returns seconds; it need not be the time of day.
    """

    def __init__(self, *, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._last = clock()
        self._present = 0

    def enter(self) -> None:
        """A request begins."""
        self._present += 1

    def leave(self) -> None:
        """A request has been answered."""
        self._present -= 1
        self._last = self._clock()

    def idle_s(self) -> float:
        """Seconds since the last request ended; 0 while one is being answered."""
        return 0.0 if self._present else self._clock() - self._last

    async def wait_idle(
        self, limit_s: float, *, sleep: Callable[[float], Awaitable[None]] = asyncio.sleep
    ) -> None:
        """Return when nobody has asked for ``limit_s`` seconds."""
        while (left_s := limit_s - self.idle_s()) > 0:
            await sleep(left_s)


class Attended:
    """ASGI layer: tells `Attendance` of every request but those for the health."""

    def __init__(self, app: AsgiApp, attendance: Attendance) -> None:
        self._app = app
        self._attendance = attendance

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Run the layers below."""
        if scope.get("path") == UNCOUNTED:
            await self._app(scope, receive, send)
            return
        self._attendance.enter()
        try:
            await self._app(scope, receive, send)
        finally:
            self._attendance.leave()
