"""Streamable HTTP: a real server on a free port, and who it lets in."""

from collections.abc import Callable

import httpx2
import pytest

from ...effort import PATIENCE_S
from .conftest import INITIALIZE, Connect, HttpServer

ACCEPT = {"Accept": "application/json, text/event-stream"}

Post = Callable[..., httpx2.Response]


@pytest.fixture
def post(http_server: HttpServer) -> Post:
    def send(body: object = INITIALIZE, **headers: str) -> httpx2.Response:
        given = ACCEPT | {"Authorization": f"Bearer {http_server.token}"} | headers
        given = {name: value for name, value in given.items() if value}
        return httpx2.post(http_server.url, json=body, headers=given, timeout=PATIENCE_S)

    return send


@pytest.mark.parametrize("mode", ["legacy", "2026-07-28"])
def test_a_conversation_works_over_http(connect: Connect, mode: str) -> None:
    talk = connect(mode)
    talk.data("route_message", message="I want to add a FAB button", conversation=mode)
    routed = talk.data("route_message", message="Make it purple", conversation=mode)
    assert routed["expanded"] == "Make the FAB button purple"
    assert "kds" in [prompt.name for prompt in talk.do("list_prompts").prompts]
    assert talk.do("read_resource", "kds://prompts/kds").contents


def test_who_has_no_token_comes_from_elsewhere_or_sends_too_much_is_refused(post: Post) -> None:
    for token in ("", "Bearer wrong", "Basic a2RzOmtkcw=="):
        answer = post(Authorization=token)
        assert answer.status_code == 401
        assert answer.headers["www-authenticate"] == "Bearer"
        assert "service.token" in answer.json()["error"]["hint"]
    for header in ({"Host": "evil.example"}, {"Origin": "https://evil.example"}):
        assert post(**header).status_code == 403
    assert post(INITIALIZE | {"padding": "x" * 1_000_001}).status_code == 413
