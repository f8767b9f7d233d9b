"""How much a client may take: connections, and bytes of a body.

A body is read whole before anything looks at it, and never more than a limit. Headers cannot be
trusted to say the size (chunked bodies have none), so the bytes are counted.
"""

import sys
from collections.abc import MutableMapping
from typing import Any, Final

if sys.platform != "win32":
    import resource

from kds.service.wire.errors import AsgiApp, Receive, Scope, Send, error_response

BODY_LIMIT: Final = 1_000_000
"""Bytes. A message at MESSAGE_LIMIT takes 600 kB when every character is escaped (`\\uXXXX`)."""

DRAIN_LIMIT: Final = 16 * BODY_LIMIT
"""Bytes of a body too large that are read and thrown away, so that a client that writes first
and reads afterwards sees the 413 instead of a broken connection."""

CONNECTION_LIMIT: Final = 512
"""Open connections of a listener: two hundred clients that keep theirs (issue 6), twice over.
Each takes a descriptor and some 100 kB; those without a token get no further than the door."""


def connection_limit() -> int:
    """How many connections a listener holds: at most a quarter of the files we may open.

    The rest is for the unix sockets, the connections on their way in and out, and the stores.
    """
    if sys.platform == "win32":  # sockets are no files there
        return CONNECTION_LIMIT
    files, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    if files == resource.RLIM_INFINITY:
        return CONNECTION_LIMIT
    return max(1, min(CONNECTION_LIMIT, files // 4))


class BodyLimit:
    """ASGI layer: a body beyond the limit is a 413."""

    def __init__(self, app: AsgiApp, *, limit: int = BODY_LIMIT) -> None:
        self._app = app
        self._limit = limit

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Hand a body within the limit on in one piece."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        body, whole = await self._read(receive)
        if not whole:  # the client has gone: nobody waits for an answer
            return
        if body is None:
            reply = error_response(
                413,
                f"the body is larger than {self._limit:,} bytes",
                where="body",
                hint="send a shorter message: only its first 2,000 characters are analysed",
                headers={"Connection": "close"},
            )
            await reply(scope, receive, send)
            return
        await self._app(scope, _replayed(body, receive), send)

    async def _read(self, receive: Receive) -> tuple[bytes | None, bool]:
        """The body, None when it is too large; and whether the client sent all of it."""
        chunks: list[bytes] = []
        size = 0
        while True:
            event = await receive()
            if event["type"] != "http.request":
                return None, False
            chunk = event.get("body", b"")
            size += len(chunk)
            if size <= self._limit:
                chunks.append(chunk)
            if not event.get("more_body", False) or size > DRAIN_LIMIT:
                return (None if size > self._limit else b"".join(chunks)), True


def _replayed(body: bytes, receive: Receive) -> Receive:
    """A channel that yields the body once, and then what comes after it."""
    given = False

    async def replay() -> MutableMapping[str, Any]:
        nonlocal given
        if given:
            return await receive()
        given = True
        return {"type": "http.request", "body": body, "more_body": False}

    return replay
