"""ASGI layers around the application: size of a body, last resort, and who was here when."""

import asyncio
import time
from collections.abc import Awaitable, Callable, MutableMapping
from typing import Any, Final

from kds.service.errors import describe_fault, error_response
from kds.service.installed import Installation
from kds.service.service_client import REPLACED

Scope = MutableMapping[str, Any]
Event = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Event]]
Send = Callable[[Event], Awaitable[None]]
AsgiApp = Callable[[Scope, Receive, Send], Awaitable[None]]

BODY_LIMIT: Final = 1_000_000
"""Bytes. A message at MESSAGE_LIMIT takes 600 kB when every character is escaped (`\\uXXXX`)."""

DRAIN_LIMIT: Final = 16 * BODY_LIMIT
"""Bytes of a body too large that are read and thrown away, so that a client that writes first
and reads afterwards sees the 413 instead of a broken connection."""

UNCOUNTED: Final = "/healthz"
"""A status line or a monitor that looks every minute must not keep the service alive."""


def at_start(send: Send, does: Callable[[Event], object]) -> Send:
    """Return ``send``, with something done to the event that begins an answer."""

    async def watched(event: Event) -> None:
        if event["type"] == "http.response.start":
            does(event)
        await send(event)

    return watched


class LastResort:
    """A fault in KDS itself becomes a 500 without a trace, and one line of the log without text."""

    def __init__(self, app: AsgiApp, log: Callable[[str], None]) -> None:
        self._app = app
        self._log = log

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Run the layers below."""
        begun: list[Event] = []
        try:
            await self._app(scope, receive, at_start(send, begun.append))
        except Exception as error:  # noqa: BLE001  # one bad request must not end the service
            self._log(f"internal error in {scope.get('path')}: {describe_fault(error)}")
            if not begun:
                text = f"internal error: {type(error).__name__}"
                reply = error_response(
                    500, text, hint="report it with the line in `kds service logs`"
                )
                await reply(scope, receive, send)


class BodyLimit:
    """Hands a body on in one piece; one beyond the limit is a 413.

    Bytes are counted: a chunked body has no header that says its size.
    """

    def __init__(self, app: AsgiApp, *, limit: int = BODY_LIMIT) -> None:
        self._app = app
        self._limit = limit

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Read the body, then run the layers below."""
        body, size, more = bytearray(), 0, True
        while more and size <= DRAIN_LIMIT:
            event = await receive()
            if event["type"] != "http.request":  # the client has gone: nobody waits for an answer
                return
            chunk, more = event.get("body", b""), event.get("more_body", False)
            size += len(chunk)
            if size <= self._limit:
                body += chunk
        if size > self._limit:
            reply = error_response(
                413,
                f"the body is larger than {self._limit:,} bytes",
                where="body",
                hint="send a shorter message: only its first 2,000 characters are analysed",
                headers={"Connection": "close"},
            )
            await reply(scope, receive, send)
            return
        events = iter([{"type": "http.request", "body": bytes(body), "more_body": False}])

        async def replay() -> Event:
            return next(events, None) or await receive()

        await self._app(scope, replay, send)


class Attendance:
    """Knows for how long there was no request, and whether one is being answered.

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
        """Return once there was no request for ``limit_s`` seconds."""
        while (left_s := limit_s - self.idle_s()) > 0:
            await sleep(left_s)


class Attended:
    """Tells `Attendance` of every request but those for the health."""

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


class CurrentInstallation:
    """Refuses requests once the installation was replaced, and has the service end.

    What a service has loaded goes on working; what it would still read is of another version. So it
    finishes what it has, and answers with status 503 and ``where`` REPLACED, at which clients do
    the work themselves or start the new version.
    """

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
