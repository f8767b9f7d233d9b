"""Sessions over HTTP: begun, listed, read in pages, changed, written out, erased."""

import subprocess
from pathlib import Path
from typing import Any

import httpx

from kds.brain.memory.export import from_json

from .conftest import problem, running

SECRET = "ghp_" + "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8"


def new_session(client: httpx.Client, **given: Any) -> dict[str, Any]:
    reply = client.post("/sessions", json=given)
    assert reply.status_code == 201, reply.text
    session: dict[str, Any] = reply.json()
    return session


def say(client: httpx.Client, session: str, content: str, role: str = "user", **more: Any) -> Any:
    body = {"role": role, "content": content, **more}
    reply = client.post(f"/sessions/{session}/messages", json=body)
    assert reply.status_code == 201, reply.text
    return reply.json()


def test_a_session_is_begun_and_read(client: httpx.Client) -> None:
    begun = new_session(client, title="Closing", documents=["agreement.md"])
    assert begun["title"] == "Closing"
    assert begun["documents"] == ["agreement.md"]
    assert begun["messages"] == 0
    shown = client.get(f"/sessions/{begun['id']}").json()
    assert begun.pop("warnings") == [
        "no document 'agreement.md' is in the store: none is preferred"
    ]
    assert {key: shown[key] for key in begun} == begun
    assert (shown["page"], shown["next_offset"]) == ([], None)


def test_nothing_goes_into_a_memory_that_git_would_commit(tmp_path: Path) -> None:
    (tmp_path / "kds-brain").mkdir()
    with running(tmp_path) as service, service.client() as client:
        begun = new_session(client)["id"]
        subprocess.run(["git", "init", "-q", tmp_path], check=True)
        (tmp_path / "kds-brain" / ".gitignore").write_text("!*\n")
        for path, body in {
            "/sessions": {"title": "Closing"},
            f"/sessions/{begun}/messages": {"role": "user", "content": "Make it purple"},
        }.items():
            reply = client.post(path, json=body)
            assert reply.status_code == 503
            assert "git does not ignore" in reply.text
        assert client.delete(f"/sessions/{begun}").status_code == 200


def test_an_id_may_be_chosen_and_holds_one_session_only(client: httpx.Client) -> None:
    assert new_session(client, id="team/a session")["id"] == "team/a session"
    assert problem(client.post("/sessions", json={"id": "team/a session"}))[0] == 409
    assert client.get("/sessions/team%2Fa%20session").json()["id"] == "team/a session"


def test_sessions_are_listed_in_pages_the_one_changed_last_first(client: httpx.Client) -> None:
    first, second, third = (new_session(client)["id"] for _ in range(3))
    say(client, first, "hello")
    page = client.get("/sessions", params={"limit": 2}).json()
    assert [one["id"] for one in page["sessions"]] == [first, third]
    rest = client.get("/sessions", params={"limit": 1, "offset": page["next_offset"]}).json()
    assert rest["sessions"][0]["id"] == second


def test_messages_come_in_pages_oldest_first(client: httpx.Client) -> None:
    session = new_session(client)["id"]
    for number in range(5):
        say(client, session, f"message {number}")
    seen: list[str] = []
    offset: int | None = 0
    while offset is not None:
        shown = client.get(f"/sessions/{session}", params={"limit": 2, "offset": offset}).json()
        seen += [one["content"] for one in shown["page"]]
        offset = shown["next_offset"]
    assert seen == [f"message {number}" for number in range(5)]
    beyond = client.get(f"/sessions/{session}", params={"offset": 9}).json()
    assert (beyond["page"], beyond["next_offset"]) == ([], None)


def test_a_message_is_stored_whole_but_for_secrets(client: httpx.Client) -> None:
    session = new_session(client)["id"]
    stored = say(
        client, session, f"log in with {SECRET}", speaker="Ann", at="2025-11-03T09:00:00+01:00"
    )
    assert SECRET not in stored["content"]
    assert (stored["seq"], stored["speaker"]) == (1, "Ann")
    assert stored["at"] == "2025-11-03T08:00:00Z"


def test_a_session_is_tied_to_several_documents(client: httpx.Client) -> None:
    session = new_session(client, documents=["a.md", "b.md"])
    assert session["documents"] == ["a.md", "b.md"]
    assert len(session["warnings"]) == 2
    path = f"/sessions/{session['id']}"
    assert client.patch(path, json={"documents": ["c.md", "a.md"]}).json()["documents"] == [
        "c.md",
        "a.md",
    ]
    assert client.get(path).json()["documents"] == ["c.md", "a.md"]
    changed = client.patch(path, json={"title": "New"}).json()
    assert (changed["title"], changed["documents"]) == ("New", ["c.md", "a.md"])
    assert client.patch(path, json={"documents": []}).json()["documents"] == []
    assert problem(client.patch(path, json={"title": " "}))[0] == 400


def test_a_session_is_erased_with_its_bytes(client: httpx.Client, service: Any) -> None:
    session = new_session(client)["id"]
    say(client, session, "the quokka sleeps until noon")
    assert client.delete(f"/sessions/{session}").json() == {"deleted": session}
    assert problem(client.get(f"/sessions/{session}"))[0] == 404
    for file in service.workspaces[0].brain.glob("memory.db*"):
        assert b"quokka" not in file.read_bytes()


def test_an_export_is_json_that_can_be_imported_or_markdown(client: httpx.Client) -> None:
    session = new_session(client, title="Closing")["id"]
    say(client, session, "What is the Closing Date?")
    say(client, session, "March 14.", role="assistant")
    reply = client.get(f"/sessions/{session}/export")
    assert reply.headers["content-type"] == "application/json"
    (read,) = from_json(reply.text)
    assert [message.content for message in read.messages] == [
        "What is the Closing Date?",
        "March 14.",
    ]
    text = client.get(f"/sessions/{session}/export", params={"format": "markdown"})
    assert text.headers["content-type"].startswith("text/markdown")
    assert text.text.startswith("# Closing\n")


def test_looking_makes_no_file(folder: Path) -> None:
    with running(folder) as service, service.client() as client:
        before = sorted(path.name for path in (folder / "kds-brain").iterdir())
        assert client.get("/sessions").json() == {"sessions": [], "next_offset": None}
        assert client.get("/sessions/x").status_code == 404
        assert client.delete("/sessions/x").status_code == 404
        assert client.get("/api/memory/metrics").status_code == 200
        assert client.get("/api/memory/debug/stats").status_code == 200
        look = client.get("/api/memory/debug/retrieval", params={"q": "x", "conversationId": "y"})
        assert look.status_code == 200
        assert client.get("/api/memory/consent").json()["given"] is False
        assert client.delete("/api/memory/consent").json()["given"] is False
        assert sorted(path.name for path in (folder / "kds-brain").iterdir()) == before


def test_a_memory_that_is_off_refuses_to_store_and_says_so(folder: Path) -> None:
    (folder / "kds-brain" / "settings.yaml").write_text("memory: {enabled: false}\n")
    with running(folder) as service, service.client() as client:
        assert problem(client.post("/sessions", json={})) == (409, "the memory is switched off")
        assert problem(client.post("/api/memory/consent", json={"purpose": "x"}))[0] == 409
        reply = client.post("/query", json={"query": "What is it?", "session_id": "s"}).json()
        assert reply["session"] is None
        assert "switched off" in reply["warnings"][0]
        assert not (folder / "kds-brain" / "memory.db").exists()
