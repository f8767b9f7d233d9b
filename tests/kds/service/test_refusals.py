"""What cannot be done is refused in one form of error, which says what, where and how to fix it.

That what the schema forbids is refused, whatever it is, is in `test_schema.py`.
"""

import json
from typing import Any

import httpx
import pytest

from .conftest import problem

SAID = {"role": "user", "content": "x"}
UNKNOWN = "no such session"
BAD_IDS = (" ", " x", "a\nb", "\0", "a/export", "a/messages", "a/b/export", "/a", "a/", "a//b",
           "a/../b", "..", ".")  # fmt: skip


@pytest.mark.parametrize(
    ("what", "body", "status", "message"),
    [
        ("GET /nothing", None, 404, "Not Found"),
        ("PUT /route", None, 405, "Method Not Allowed"),
        *(
            ("POST /route", {"message": text}, 400, "")
            for text in (" \n ", "\0", "#file:KDS/prompts/shared/_style.md hello")
        ),
        ("POST /hook", [], 400, ""),
        ("POST /hook", {}, 400, ""),
        ("POST /query", {"query": " \n"}, 400, "empty"),
        ("POST /query", {"query": "fees", "scope": "document"}, 400, ""),
        ("POST /query", {"query": "fees", "scope": "conversation"}, 400, ""),
        *(("POST /query", {"query": "fees", "session_id": name}, 400, "") for name in BAD_IDS),
        *(("POST /sessions", {"id": name}, 400, "") for name in BAD_IDS),
        ("GET /sessions/nobody", None, 404, UNKNOWN),
        ("GET /sessions/nobody/export", None, 404, UNKNOWN),
        ("DELETE /sessions/nobody", None, 404, UNKNOWN),
        ("PATCH /sessions/nobody", {"title": "x"}, 404, UNKNOWN),
        ("POST /sessions/nobody/messages", SAID, 404, UNKNOWN),
        ("GET /sessions/nobody/export?format=pdf", None, 422, "markdown"),
        *(
            ("POST /sessions/nobody/messages", {**SAID, "at": at}, 422, reason)
            for at, reason in (
                ("yesterday", "datetime"),
                ("2025-11-03T09:00:00", "timezone"),
                ("2300-01-01T00:00:00Z", "future"),
            )
        ),
    ],
)
def test_what_cannot_be_done_is_refused(
    client: httpx.Client, what: str, body: Any, status: int, message: str
) -> None:
    method, path = what.split()
    told = problem(client.request(method, path, json=body))
    assert told[0] == status
    assert message in told[1]


@pytest.mark.parametrize(
    ("body", "message"),
    [
        ({"message": ""}, "at least 1 character"),
        ({"message": "x", "conversation": "c" * 129}, "at most 128 characters"),
        ({}, "body.message: Field required"),
        ({"message": "x", "colour": "red"}, "body.colour: Extra inputs are not permitted"),
    ],
)
def test_a_refusal_says_once_what_is_wrong_and_what_to_do(
    client: httpx.Client, body: Any, message: str
) -> None:
    reply = client.post("/route", json=body)
    told = reply.json()["error"]
    assert reply.status_code == 422
    assert told["message"].endswith(message)
    assert told["where"].startswith("body.")


@pytest.mark.parametrize("content", [b"", b"no json", b'{"prompt": 7}', b"[" * 100_000])
def test_the_hook_refuses_what_no_client_writes(client: httpx.Client, content: bytes) -> None:
    assert problem(client.post("/hook", content=content))[0] == 400


@pytest.mark.parametrize("headers", [{}, {"Content-Type": "text/plain"}])
def test_a_body_of_another_type_is_refused_with_the_header_to_send(
    client: httpx.Client, headers: dict[str, str]
) -> None:
    """A form of a web page needs no leave to be sent across origins; JSON does."""
    reply = client.post("/route", content=json.dumps({"message": "x"}), headers=headers)
    assert reply.status_code == 422
    assert "Content-Type: application/json" in reply.json()["error"]["hint"]
