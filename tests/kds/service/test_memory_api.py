"""The memory over HTTP: sessions, figures, the look into a retrieval, and consent."""

import json
from pathlib import Path
from typing import Any

import httpx
import pytest

from kds.brain.memory.export import from_json
from kds.brain.memory.memory_store import MemoryPlace
from kds.brain.memory.profile import Profile
from kds.brain.timeouts import Deadline
from kds.brain.workspace import Workspace
from kds.service.requests import BODY_LIMIT

from ...effort import PATIENCE_S
from .conftest import ask, problem, running

SECRET = "ghp_" + "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8"
LOOK = "/api/memory/debug/retrieval"


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


def got(client: httpx.Client, path: str, **query: Any) -> Any:
    """What the service answers to a GET that succeeds."""
    reply = client.get(path, params=query)
    assert reply.status_code == 200, reply.text
    return reply.json()


def test_a_session_is_begun_with_documents_and_changed(client: httpx.Client) -> None:
    begun = new_session(client, title="Closing", documents=["a.md", "b.md"])
    assert (begun["title"], begun["documents"]) == ("Closing", ["a.md", "b.md"])
    assert begun["messages"] == 0
    path = f"/sessions/{begun['id']}"
    shown = got(client, path)
    assert {key: shown[key] for key in begun} == begun
    assert (shown["page"], shown["next_offset"]) == ([], None)
    changed = client.patch(path, json={"documents": ["c.md", "a.md"]}).json()
    assert changed["documents"] == got(client, path)["documents"] == ["c.md", "a.md"]
    changed = client.patch(path, json={"title": "New"}).json()
    assert (changed["title"], changed["documents"]) == ("New", ["c.md", "a.md"])
    assert client.patch(path, json={"documents": []}).json()["documents"] == []
    assert problem(client.patch(path, json={"title": " "}))[0] == 400


def test_an_id_may_be_chosen_and_holds_one_session_only(client: httpx.Client) -> None:
    assert new_session(client, id="team/a session")["id"] == "team/a session"
    assert problem(client.post("/sessions", json={"id": "team/a session"}))[0] == 409
    assert got(client, "/sessions/team%2Fa%20session")["id"] == "team/a session"


def test_sessions_and_messages_come_in_pages(client: httpx.Client) -> None:
    """The session changed last first, the oldest message first."""
    first, second, third = (new_session(client)["id"] for _ in range(3))
    for number in range(5):
        say(client, first, f"message {number}")
    page = got(client, "/sessions", limit=2)
    assert [one["id"] for one in page["sessions"]] == [first, third]
    rest = got(client, "/sessions", limit=1, offset=page["next_offset"])
    assert rest["sessions"][0]["id"] == second
    seen: list[str] = []
    offset: int | None = 0
    while offset is not None:
        shown = got(client, f"/sessions/{first}", limit=2, offset=offset)
        seen += [one["content"] for one in shown["page"]]
        offset = shown["next_offset"]
    assert seen == [f"message {number}" for number in range(5)]
    beyond = got(client, f"/sessions/{first}", offset=9)
    assert (beyond["page"], beyond["next_offset"]) == ([], None)


def test_a_message_is_stored_whole_but_for_secrets_and_erased_with_its_bytes(
    client: httpx.Client, service: Any
) -> None:
    session = new_session(client)["id"]
    at = "2025-11-03T09:00:00+01:00"
    stored = say(client, session, f"the quokka logs in with {SECRET}", speaker="Ann", at=at)
    assert SECRET not in stored["content"]
    assert (stored["seq"], stored["speaker"]) == (1, "Ann")
    assert stored["at"] == "2025-11-03T08:00:00Z"
    assert client.delete(f"/sessions/{session}").json() == {"deleted": session}
    assert problem(client.get(f"/sessions/{session}"))[0] == 404
    for file in service.workspaces[0].brain.glob("memory.db*"):
        assert b"quokka" not in file.read_bytes()


def test_an_export_is_json_that_can_be_imported_or_markdown(client: httpx.Client) -> None:
    session = new_session(client, title="Closing")["id"]
    said = ["What is the Closing Date?", "March 14."]
    for role, text in zip(("user", "assistant"), said, strict=True):
        say(client, session, text, role)
    reply = client.get(f"/sessions/{session}/export")
    assert reply.headers["content-type"] == "application/json"
    (read,) = from_json(reply.text)
    assert [message.content for message in read.messages] == said
    shown = client.get(f"/sessions/{session}/export", params={"format": "markdown"})
    assert shown.headers["content-type"].startswith("text/markdown")
    assert shown.text.startswith("# Closing\n")


def exported(*sessions: object, of: str = "ö ") -> dict[str, object]:
    when = "2025-11-03T09:00:00+00:00"
    said = [{"role": "user", "content": of * 700_000, "at": when}]
    one = {"id": "large", "title": "L", "created_at": when, "updated_at": when, "messages": said}
    return {"kds_memory": 1, "sessions": [one, *sessions]}


def test_what_was_exported_is_imported_again_under_a_new_id_where_that_is_taken(
    client: httpx.Client,
) -> None:
    names = []
    for text in ("ö ", "ä "):
        reply = client.post("/sessions/import", json=exported(of=text))
        assert reply.status_code == 201, reply.text
        assert int(reply.request.headers["content-length"]) > BODY_LIMIT
        names.append(reply.json()["sessions"][0]["id"])
    assert names[0] == "large" != names[1]
    found = from_json(client.get("/sessions/large/export").text)[0].messages
    assert len(found[0].content) == 1_400_000
    for one in names:  # what is wrong below would have the same id
        assert client.delete(f"/sessions/{one}").status_code == 200


@pytest.mark.parametrize(
    ("body", "fault"),
    [
        (json.dumps(exported({"id": 5})).encode(), "$.sessions[1].id"),
        (json.dumps(exported())[:-3].encode(), "invalid JSON"),
        (b"\xff]}", "utf-8"),
        (b"[" * 100_000, "not an export"),
    ],
    ids=range(4),
)
def test_of_an_import_that_is_wrong_nothing_is_stored(
    client: httpx.Client, body: bytes, fault: str
) -> None:
    status, told = problem(client.post("/sessions/import", content=body))
    assert status == 400
    assert fault in told
    assert client.get("/sessions/large").status_code == 404


def test_looking_makes_no_file(folder: Path) -> None:
    with running(folder) as service, service.client() as client:
        before = sorted(path.name for path in (folder / "kds-brain").iterdir())
        assert got(client, "/sessions") == {"sessions": [], "next_offset": None}
        assert client.get("/sessions/x").status_code == 404
        assert client.delete("/sessions/x").status_code == 404
        got(client, "/api/memory/metrics")
        got(client, "/api/memory/debug/stats")
        got(client, LOOK, q="x", conversationId="y")
        assert got(client, "/api/memory/consent")["given"] is False
        assert client.delete("/api/memory/consent").json()["given"] is False
        assert sorted(path.name for path in (folder / "kds-brain").iterdir()) == before


def test_a_memory_that_is_off_refuses_to_store_and_says_so(folder: Path) -> None:
    (folder / "kds-brain" / "settings.yaml").write_text("memory: {enabled: false}\n")
    with running(folder) as service, service.client() as client:
        assert problem(client.post("/sessions", json={})) == (409, "the memory is switched off")
        assert problem(client.post("/api/memory/consent", json={"purpose": "x"}))[0] == 409
        reply = ask(client, "What is it?", session_id="s")
        assert reply["session"] is None
        assert "switched off" in reply["warnings"][0]
        assert not (folder / "kds-brain" / "memory.db").exists()


def test_the_metrics_have_what_the_command_prints_and_the_hit_rate(client: httpx.Client) -> None:
    before = got(client, "/api/memory/metrics")["session_memory"]
    new_session(client, id="moon")
    say(client, "moon", "The moon has the colour of ashes.")
    for question in (
        "What is the Determination Date?",
        "And what happens if it falls on a weekend?",
        "Who calculates it?",
        "Which colour has the moon?",
    ):
        ask(client, question, session_id="hits")
    report = got(client, "/api/memory/metrics", hours=1)
    assert {"since", "until", "turns", "recalls", "buckets", "memory"} <= set(report)
    found = report["session_memory"]
    grown = {key: found[key] - before[key] for key in ("turns", "later_turns", "hits")}
    assert grown == {"turns": 4, "later_turns": 2, "hits": 1}
    assert found["hit_rate"] == pytest.approx(found["hits"] / found["later_turns"], abs=1e-4)
    assert report["memory"]["messages"] >= 4
    assert report["recalls"]["surfaces"]["query"] >= 1
    assert 0 < report["recalls"]["budget"]["used"] < 1
    assert report["recalls"]["flags"]["hybrid"] == 1.0
    assert report["content"]["prose"] >= 2
    stats = got(client, "/api/memory/debug/stats")
    assert stats["memory"]["enabled"] is True
    assert stats["memory"]["sessions"] >= 1
    assert stats["index_bytes"]["chunk_fts"] > 0
    assert stats["consent"] is False
    held = ("documents", "sections", "chunks", "tokens", "size_bytes")
    assert stats["documents"] == dict.fromkeys(held, 0)
    assert stats["embedding"] == {"model": "shipped", "last_error": None}


def test_figures_that_take_long_are_worked_out_now_and_then(folder: Path) -> None:
    def turns(client: httpx.Client, **query: int) -> int:
        return int(got(client, "/api/memory/metrics", **query)["turns"]["count"])

    with MemoryPlace.of(Workspace.at(folder)).open() as store:
        for _ in range(2_000):
            store.metrics.add("turn", {"intent": "ASK", "action": "route"})
        with running(folder) as service, service.client() as client:
            assert turns(client) == 2_000
            store.metrics.add("turn", {"intent": "ASK", "action": "route"})
            assert turns(client) == 2_000
            assert turns(client, hours=1) == 2_001  # another question
            assert Deadline(PATIENCE_S).until(lambda: turns(client) == 2_001, pause_s=0.1)


def test_a_retrieval_shows_each_step_and_leaves_nothing_behind(client: httpx.Client) -> None:
    new_session(client, id="look")
    say(client, "look", "Where is the invoice export?")
    said = "The invoice export is in src/jobs/export.py and costs $300 a month."
    say(client, "look", said, role="assistant")
    before = got(client, "/sessions/look")
    asked = "What does it cost a month?"
    found = got(client, LOOK, q=asked, conversationId="look", scope="memory")
    assert found["rewritten_query"] == "What does the invoice export cost a month?"
    assert found["rewritten_by"] == "rules"
    assert found["references"][0]["target"] == "invoice export"
    assert "cost" in found["question"]["words"]
    (hit, *_) = found["conversations"]
    assert "$300" in hit["passage"]["body"]
    assert set(hit["parts"]) >= {"dense", "lexical", "code"}
    assert hit["why"]
    assert found["weights"]["beta"] > 0
    assert {"session", "rewriting", "retrieval", "memory.total"} <= set(found["timings_ms"])
    assert got(client, "/sessions/look") == before
    look = got(client, LOOK, q="invoice export", scope="memory")
    assert 0 < look["used_tokens"] < look["budget_tokens"] == 1000


def test_consent_is_given_for_a_purpose_and_withdrawal_erases(
    client: httpx.Client, service: Any
) -> None:
    granted = client.post("/api/memory/consent", json={"purpose": "answers that suit me"}).json()
    assert (granted["given"], granted["purpose"]) == (True, "answers that suit me")
    assert got(client, "/api/memory/consent") == granted
    with MemoryPlace(service.workspaces[0]).open() as store:
        store.profile.save(Profile(name="Quentin Quokka"))
    revoked = client.delete("/api/memory/consent").json()
    assert revoked["given"] is False
    actions = [event["action"] for event in revoked["events"]][-3:]
    assert actions == ["granted", "changed", "revoked"]
    for file in service.workspaces[0].brain.glob("memory.db*"):
        assert b"Quokka" not in file.read_bytes()
