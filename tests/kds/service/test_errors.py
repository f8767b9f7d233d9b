"""How a client is told what went wrong, and what the log says of it."""

from typing import Any

import httpx
import pytest
from starlette.testclient import TestClient

from kds.brain.errors import DispatchError, KdsError, MessageError, StoreError
from kds.service.errors import (
    BusyError,
    NotServedError,
    TooLargeError,
    describe_fault,
    status_of,
)
from kds.service.layers import LastResort
from kds.service.security import AsgiApp


def answer(app: AsgiApp, log: list[str]) -> httpx.Response:
    return TestClient(LastResort(app, log.append)).get("/route")


@pytest.mark.parametrize(
    ("error", "status"),
    [
        (MessageError("x"), 400),
        (DispatchError("x"), 400),
        (NotServedError("x"), 404),
        (TooLargeError("x"), 413),
        (StoreError("x"), 500),
        (KdsError("x"), 500),
        (BusyError("x"), 503),
    ],
)
def test_every_error_has_its_status(error: KdsError, status: int) -> None:
    assert status_of(error) == status


def test_a_fault_becomes_a_500_and_a_line_without_its_text() -> None:
    async def app(*_: Any) -> None:
        raise RuntimeError("the user said zebra")

    log: list[str] = []
    reply = answer(app, log)
    assert reply.status_code == 500
    assert reply.json()["error"]["message"] == "internal error: RuntimeError"
    (line,) = log
    assert line.startswith("internal error in /route: RuntimeError at ")
    assert "zebra" not in line + reply.text


def test_a_fault_after_the_reply_began_adds_nothing_to_it() -> None:
    async def app(scope: Any, receive: Any, send: Any) -> None:
        await send({"type": "http.response.start", "status": 200, "headers": []})
        raise RuntimeError

    log: list[str] = []
    reply = answer(app, log)
    assert (reply.status_code, reply.content) == (200, b"")
    assert len(log) == 1


def test_a_fault_is_described_by_where_it_arose() -> None:
    def inner() -> None:
        raise ValueError("secret")

    try:
        inner()
    except ValueError as error:
        described = describe_fault(error)
    assert described.startswith("ValueError at ")
    assert described.endswith(" in inner")
