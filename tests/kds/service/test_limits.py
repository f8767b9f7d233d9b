"""The size of a body, counted rather than believed."""

import asyncio
from collections.abc import Iterable, MutableMapping
from typing import Any

from hypothesis import given
from hypothesis import strategies as st
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from kds.service.requests import DRAIN_LIMIT, BodyLimit

LIMIT = 100
Message = MutableMapping[str, Any]


def post(chunks: Iterable[bytes]) -> tuple[list[bytes], int | None, int]:
    """Send a body: what the app read, the status of the answer, and how many chunks were taken."""
    events: list[Message] = [
        {"type": "http.request", "body": chunk, "more_body": True} for chunk in chunks
    ]
    end = {"type": "http.request", "more_body": False}
    left = iter([*events, end, {"type": "http.disconnect"}])
    taken: list[Message] = []
    read: list[bytes] = []
    sent: list[Message] = []

    async def receive() -> Message:
        taken.append(next(left))
        return taken[-1]

    async def send(message: Message) -> None:
        sent.append(message)

    async def answer(request: Request) -> Response:
        read.append(await request.body())
        return Response()

    app = Starlette(routes=[Route("/", answer, methods=["POST"])])
    app.add_middleware(BodyLimit, limit=LIMIT)
    scope = {"type": "http", "method": "POST", "path": "/", "headers": [], "query_string": b""}
    asyncio.run(app(scope, receive, send))
    return read, sent[0]["status"], len(taken)


@given(st.lists(st.binary(max_size=80), max_size=6))
def test_a_body_is_handed_on_whole_or_not_at_all(chunks: list[bytes]) -> None:
    body = b"".join(chunks)
    assert post(chunks)[:2] == (([body], 200) if len(body) <= LIMIT else ([], 413))


def test_a_body_without_end_is_not_read_for_ever() -> None:
    assert post([b"a" * (DRAIN_LIMIT // 4)] * 100) == ([], 413, 5)
