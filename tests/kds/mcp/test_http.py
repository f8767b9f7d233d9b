"""Streamable HTTP: a real server on a free port, and who it lets in."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import httpx2
import pytest

from ...effort import PATIENCE_S
from .conftest import INITIALIZE, Connect, HttpServer

ACCEPT = {"Accept": "application/json, text/event-stream"}

Post = Callable[..., httpx2.Response]


@pytest.fixture
def post(http_server: HttpServer) -> Post:
    def send(**headers: str) -> httpx2.Response:
        given = ACCEPT | {"Authorization": f"Bearer {http_server.token}"} | headers
        given = {name: value for name, value in given.items() if value}
        return httpx2.post(http_server.url, json=INITIALIZE, headers=given, timeout=PATIENCE_S)

    return send


@pytest.mark.parametrize("mode", ["legacy", "2026-07-28"])
def test_a_conversation_works_over_http(connect: Connect, mode: str) -> None:
    talk = connect(mode)
    talk.data("route_message", message="I want to add a FAB button", conversation=mode)
    routed = talk.data("route_message", message="Make it purple", conversation=mode)
    assert routed["expanded"] == "Make the FAB button purple"
    assert "kds" in [prompt.name for prompt in talk.do("list_prompts").prompts]
    assert talk.do("read_resource", "kds://prompts/kds").contents


@pytest.mark.parametrize("token", ["", "Bearer wrong", "Basic a2RzOmtkcw=="])
def test_without_the_token_nobody_comes_in(post: Post, token: str) -> None:
    answer = post(Authorization=token)
    assert answer.status_code == 401
    assert answer.headers["www-authenticate"] == "Bearer"
    assert "service.token" in answer.json()["error"]["hint"]


@pytest.mark.parametrize("header", [{"Host": "evil.example"}, {"Origin": "https://evil.example"}])
def test_a_name_and_a_page_from_elsewhere_are_refused(post: Post, header: dict[str, str]) -> None:
    assert post(**header).status_code == 403


def test_a_body_beyond_the_limit_is_refused(http_server: HttpServer) -> None:
    headers = ACCEPT | {"Authorization": f"Bearer {http_server.token}"}
    large: dict[str, Any] = INITIALIZE | {"padding": "x" * 1_000_001}
    answer = httpx2.post(http_server.url, json=large, headers=headers, timeout=PATIENCE_S)
    assert answer.status_code == 413


@pytest.mark.parametrize(
    ("address", "complaint", "fix"),
    [
        ("0.0.0.0:0", "'0.0.0.0' is not this machine", "use 127.0.0.1"),
        ("loud", "'loud' names no port", "such as 8765"),
    ],
)
def test_an_address_that_cannot_be_is_refused(
    workspace: Path, kds_call: Callable[..., Any], address: str, complaint: str, fix: str
) -> None:
    result = kds_call("mcp", "--http", address)
    assert (result.code, result.out) == (2, "")
    assert complaint in result.err
    assert fix in result.err
