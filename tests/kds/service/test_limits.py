"""The size of a body, counted rather than believed; and the room for connections."""

import asyncio
from collections.abc import Iterable, MutableMapping
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from kds.service.layers import DRAIN_LIMIT, BodyLimit

LIMIT = 100
Message = MutableMapping[str, Any]


def post(chunks: Iterable[bytes], *, cut: bool = False) -> tuple[list[bytes], list[Message], int]:
    """Send a body: what the app read, what was sent back, and how many chunks were taken."""
    events: list[Message] = [
        {"type": "http.request", "body": chunk, "more_body": True} for chunk in chunks
    ]
    end = {"type": "http.disconnect"} if cut else {"type": "http.request", "more_body": False}
    left = iter([*events, end, {"type": "http.disconnect"}])
    taken: list[Message] = []
    read: list[bytes] = []
    sent: list[Message] = []

    async def receive() -> Message:
        taken.append(next(left))
        return taken[-1]

    async def send(message: Message) -> None:
        sent.append(message)

    async def app(scope: Any, receive: Any, send: Any) -> None:
        event = await receive()
        assert not event["more_body"]
        read.append(event["body"])
        assert (await receive())["type"] == "http.disconnect"

    asyncio.run(BodyLimit(app, limit=LIMIT)({"type": "http"}, receive, send))
    return read, sent, len(taken)


@given(st.lists(st.binary(max_size=80), max_size=6))
def test_a_body_is_handed_on_whole_or_not_at_all(chunks: list[bytes]) -> None:
    read, sent, _ = post(chunks)
    body = b"".join(chunks)
    if len(body) <= LIMIT:
        assert (read, sent) == ([body], [])
    else:
        assert read == []
        assert sent[0]["status"] == 413


def test_a_client_that_goes_away_gets_no_answer() -> None:
    assert post([b"half"], cut=True)[:2] == ([], [])


def test_a_body_without_end_is_not_read_for_ever() -> None:
    chunk = b"a" * (DRAIN_LIMIT // 4)
    read, sent, taken = post([chunk] * 100)
    assert (read, sent[0]["status"]) == ([], 413)
    assert taken == 5
