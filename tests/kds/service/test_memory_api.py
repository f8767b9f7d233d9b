"""The memory's figures, the look into a retrieval, and consent, over HTTP."""

from typing import Any

import httpx
import pytest

from kds.brain.memory.memory_store import MemoryPlace
from kds.brain.memory.profile import Profile

from .conftest import ask


def test_the_metrics_have_what_the_command_prints_and_the_hit_rate(client: httpx.Client) -> None:
    before = client.get("/api/memory/metrics").json()["session_memory"]
    for question in (
        "What is the Determination Date?",
        "And what happens if it falls on a weekend?",
        "Who calculates it?",
        "Which colour has the moon?",
    ):
        ask(client, question, session_id="hits")
    report = client.get("/api/memory/metrics", params={"hours": 1}).json()
    assert {"since", "until", "turns", "recalls", "buckets", "memory"} <= set(report)
    found = report["session_memory"]
    assert found["turns"] == before["turns"] + 4
    assert found["later_turns"] == before["later_turns"] + 2
    assert found["hits"] == before["hits"] + 1
    assert found["hit_rate"] == pytest.approx(found["hits"] / found["later_turns"], abs=1e-4)
    assert report["memory"]["messages"] >= 4


def test_the_stats_tell_what_is_stored_and_how_queries_do(client: httpx.Client) -> None:
    ask(client, "What is the fee?", session_id="stats")
    stats = client.get("/api/memory/debug/stats").json()
    assert stats["memory"]["enabled"] is True
    assert stats["memory"]["sessions"] >= 1
    assert stats["documents"] == {
        "documents": 0, "sections": 0, "chunks": 0, "tokens": 0, "size_bytes": 0,
    }  # fmt: skip
    embedding = stats["embedding"]
    assert (embedding["model"], embedding["failures"]) == ("shipped", 0)
    assert embedding["last_error"] is None


def test_a_retrieval_shows_each_step_and_leaves_nothing_behind(client: httpx.Client) -> None:
    client.post("/sessions", json={"id": "look"})
    for role, content in (
        ("user", "Where is the invoice export?"),
        ("assistant", "The invoice export is in src/jobs/export.py and costs $300 a month."),
    ):
        client.post("/sessions/look/messages", json={"role": role, "content": content})
    before = client.get("/sessions/look").json()
    look = client.get(
        "/api/memory/debug/retrieval",
        params={"q": "What does it cost a month?", "conversationId": "look", "scope": "memory"},
    )
    assert look.status_code == 200, look.text
    found = look.json()
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
    assert client.get("/sessions/look").json() == before


def test_consent_is_given_for_a_purpose_and_withdrawal_erases(
    client: httpx.Client, service: Any
) -> None:
    granted = client.post("/api/memory/consent", json={"purpose": "answers that suit me"}).json()
    assert (granted["given"], granted["purpose"]) == (True, "answers that suit me")
    assert client.get("/api/memory/consent").json() == granted
    with MemoryPlace(service.workspaces[0]).open() as store:
        store.profile.save(Profile(name="Quentin Quokka"))
    revoked = client.delete("/api/memory/consent").json()
    assert revoked["given"] is False
    assert [event["action"] for event in revoked["events"]][-3:] == [
        "granted", "changed", "revoked",
    ]  # fmt: skip
    for file in service.workspaces[0].brain.glob("memory.db*"):
        assert b"Quokka" not in file.read_bytes()


def test_searches_windows_and_kinds_of_passages_are_reported(client: httpx.Client) -> None:
    client.post("/sessions", json={"id": "earlier"})
    said = {"role": "user", "content": "The invoice export costs $300 a month."}
    client.post("/sessions/earlier/messages", json=said)
    history = [{"role": "user", "content": "Hello"}, {"role": "assistant", "content": "Hi"}]
    client.post(
        "/query",
        json={"query": "What does the invoice export cost?", "session_id": "now",
              "conversation_context": history},
    )  # fmt: skip
    metrics = client.get("/api/memory/metrics").json()
    assert metrics["recalls"]["surfaces"]["query"] >= 1
    assert 0 < metrics["recalls"]["budget"]["used"] < 1
    assert metrics["recalls"]["flags"]["hybrid"] == 1.0
    assert metrics["content"]["prose"] >= 2
    stats = client.get("/api/memory/debug/stats").json()
    assert stats["index_bytes"]["chunk_fts"] > 0
    assert stats["consent"] is False
    look = client.get(
        "/api/memory/debug/retrieval", params={"q": "invoice export", "scope": "memory"}
    ).json()
    assert look["budget_tokens"] == 1000
    assert 0 < look["used_tokens"] < 1000
