"""The chat without JavaScript: links and forms alone, and what they refuse."""

import json
from typing import Any

import httpx
import pytest

from kds.api.conversations import Conversations

from ...agents.openai_server import FakeProvider, Stall
from ...effort import PATIENCE_S
from .conftest import Site, Visitor

FAB = "I want to add a FAB button"
HTMX = {"HX-Request": "true"}


def session_of(answer: httpx.Response) -> str:
    """The session that a page shows."""
    return answer.url.params["session"]


def by_script(visitor: Visitor, message: str, **more: str) -> httpx.Response:
    """Send a message as htmx does."""
    headers = {**HTMX, "X-CSRF-Token": visitor.csrf}
    return visitor.post("/chat/send", data={"message": message, **more}, headers=headers)


def test_a_turn_shows_before_the_model_has_said_a_word_and_is_routed_once(
    visitor: Visitor, provider: FakeProvider, monkeypatch: pytest.MonkeyPatch
) -> None:
    routed: list[str] = []
    route = Conversations.route

    def counted(self: Conversations, message: str, **how: Any) -> Any:
        routed.append(message)
        return route(self, message, **how)

    session = session_of(visitor.send_form("/chat/send", message=FAB))
    monkeypatch.setattr(Conversations, "route", counted)
    monkeypatch.setattr("kds.web.talks.AT_ONCE_S", 2 * PATIENCE_S)
    provider.play(Stall())
    part = by_script(visitor, "Make it purple", session=session, after="2")
    assert "Make the FAB button purple" in part.text
    assert "sse-connect" in part.text
    assert routed == ["Make it purple"]
    visitor.send_form("/chat/stop", session=session)


@pytest.mark.parametrize("message", ["", "  \r\n ", "x" * 100_001])
def test_an_impossible_message_is_refused_in_words(visitor: Visitor, message: str) -> None:
    page = visitor.send_form("/chat/send", message=message)
    assert page.status_code in (400, 413)
    assert "To fix it" in page.text
    part = by_script(visitor, message)
    assert part.headers["hx-retarget"] == "#alerts"
    assert "<html" not in part.text


@pytest.mark.parametrize("name", ["none", "../../etc", "a/b", "<b>", "x" * 300])
def test_a_session_that_is_not_there_is_no_page(visitor: Visitor, name: str) -> None:
    for path in ("/chat", "/chat/export", "/chat/since"):
        answer = visitor.get(path, params={"session": name})
        assert answer.status_code == 404
        assert "<b>" not in answer.text
    for path in ("/chat/rename", "/chat/delete", "/chat/send", "/chat/stop", "/chat/hand-over"):
        fields = {"session": name, "title": "x", "message": FAB, "intent": "TEST"}
        assert visitor.send_form(path, **fields).status_code == 404
    assert visitor.send_form("/chat/bring-back", erased=name).status_code == 404
    assert visitor.get("/chat/answer", params={"telling": name}).status_code == 204


def test_an_erased_session_does_not_begin_anew_from_another_tab(
    site: Site, visitor: Visitor
) -> None:
    session = session_of(visitor.send_form("/chat/send", message=FAB))
    visitor.send_form("/chat/delete", session=session)
    before = sorted((site.workspace.brain / "conversations").iterdir())
    for path in ("/chat/send", "/chat/hand-over", "/chat/stop"):
        answer = visitor.send_form(path, session=session, message="Make it purple", intent="PLAN")
        assert answer.status_code == 404
    assert sorted((site.workspace.brain / "conversations").iterdir()) == before


def test_a_large_export_is_imported_and_one_too_large_refused_in_words(visitor: Visitor) -> None:
    message = {"role": "user", "content": "The tide gauge is G-77.", "at": "2026-11-03T09:00:00Z"}
    times = dict.fromkeys(("created_at", "updated_at"), "2026-11-03T09:00:00Z")
    session = {"id": "tide", "title": "Tide", **times, "messages": [message]}
    text = json.dumps({"kds_memory": 1, "sessions": [session]}).encode()
    page = visitor.send_form("/chat/import", files={"file": ("a.json", text + b" " * 30_000_000)})
    assert "Sessions imported: 1." in page.text
    page = visitor.send_form("/chat/import", files={"file": ("b.json", b" " * 70_000_000)})
    assert page.status_code == 413
    assert "too large" in page.text
    assert "kds memory import FILE" in page.text
