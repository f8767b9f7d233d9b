"""`POST /query`: a question in, passages and perhaps an answer out, over socket and TCP."""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest
from tests.agents.openai_server import Asked, Failure, FakeProvider, Slow, Text

from kds.brain.words.terms import estimate_tokens
from kds.brain.workspace import Workspace
from kds.service.listening import HttpAddress
from kds.service.server import ServiceOptions

from ..query.place import add_documents
from .conftest import ask, meanwhile, running, wait_until

KEYS = {
    *("query", "rewritten_query", "rewriting", "intent", "chunks", "citations", "answer"),
    *("answer_error", "model", "session", "timings_ms", "warnings"),
}
CHUNK_KEYS = {
    *("text", "score", "bias", "citation", "document", "section", "page", "source_path", "line"),
    *("origin", "session", "message", "why"),
}

ASKED = "What is the Determination Date?"
THEN = "And what happens if it falls on a weekend?"
REWRITTEN = "And what happens if the Determination Date falls on a weekend?"


@pytest.fixture(scope="module")
def library(new_workspace: Callable[[], Path]) -> Iterator[Any]:
    """A service of a workspace with two documents, on its socket and on TCP."""
    folder = new_workspace()
    add_documents(Workspace(folder, folder / "kds-brain"))
    with running(folder, options=ServiceOptions(http=HttpAddress())) as service:
        yield service


@pytest.fixture
def client(library: Any) -> Iterator[httpx.Client]:
    with library.client() as client:
        yield client


def files(library: Any) -> list[str]:
    return sorted(path.name for path in library.workspaces[0].brain.iterdir())


def test_a_client_that_sends_only_a_question_gets_every_key(
    client: httpx.Client, library: Any
) -> None:
    reply = ask(client, ASKED)
    assert set(reply) == KEYS
    assert reply["rewritten_query"] == reply["query"] == ASKED
    assert (reply["answer"], reply["answer_error"], reply["session"]) == (None, None, None)
    best = reply["chunks"][0]
    assert set(best) == CHUNK_KEYS
    assert "12th day of each month" in best["text"]
    assert (best["document"], best["section"]) == ("Harbor Loan Agreement", "1 Definitions")
    assert best["source_path"].endswith("/agreement.md")
    assert reply["citations"][0]["citation"] == best["citation"]
    assert reply["citations"][0]["chunks"][0] == 1
    assert "memory.db" not in files(library)


def test_a_follow_up_is_read_after_the_context_that_is_sent(client: httpx.Client) -> None:
    context = [
        {"role": "user", "content": ASKED},
        {"role": "assistant", "content": "The 12th day of each month."},
    ]
    reply = ask(client, THEN, conversation_context=context)
    assert reply["rewritten_query"] == REWRITTEN
    assert reply["rewriting"]["by"] == "rules"
    assert reply["rewriting"]["references"][0]["target"] == "Determination Date"
    assert reply["rewriting"]["why"]
    assert "next Business Day" in reply["chunks"][0]["text"]


def test_a_session_remembers_what_was_asked_in_it(client: httpx.Client) -> None:
    first = ask(client, ASKED, session_id="harbor")
    assert first["session"] == {
        "id": "harbor", "turn": 1, "memory": ["Determination Date"], "hit": False,
    }  # fmt: skip
    second = ask(client, THEN, session_id="harbor")
    assert second["rewritten_query"] == REWRITTEN
    assert second["session"]["turn"] == 2
    assert second["session"]["hit"] is True
    assert "Determination Date" in second["session"]["memory"]
    page = client.get("/sessions/harbor").json()["page"]
    assert [message["content"] for message in page] == [ASKED, THEN]


def test_the_scope_says_where_to_look(client: httpx.Client) -> None:
    client.post("/sessions", json={"id": "old-talk"})
    said = "We agreed that Rosa pays the late fee of the bakery in cash."
    client.post("/sessions/old-talk/messages", json={"role": "user", "content": said})
    question = "Who pays the late fee?"

    def found(scope: str, **more: Any) -> set[tuple[str, str | None]]:
        chunks = ask(client, question, scope=scope, **more)["chunks"]
        return {(chunk["origin"], chunk["document"]) for chunk in chunks}

    assert found("documents") == {
        ("document", "Harbor Loan Agreement"), ("document", "Bakery Handbook"),
    }  # fmt: skip
    assert found("document", source_path="handbook.md") == {("document", "Bakery Handbook")}
    assert found("memory") == {("conversation", None)}
    assert found("conversation", session_id="old-talk") == {("conversation", None)}
    assert found("conversation", session_id="a-new-one") == set()
    both = ask(client, question, scope="all", limit=6)["chunks"]
    assert [chunk["origin"] for chunk in both][-1] == "conversation"
    assert both[0]["origin"] == "document"


def test_the_knowledge_retriever_answers_from_the_passages(
    client: httpx.Client, provider: FakeProvider
) -> None:
    provider.play(Text("The 12th day of each month [1]."))
    reply = ask(client, ASKED, session_id="answered")
    assert reply["answer"] == "The 12th day of each month [1]."
    assert (reply["answer_error"], reply["model"]) == (None, "fake")
    assert reply["timings_ms"]["answer"] > 0
    (asked,) = provider.asked
    assert "Knowledge retriever" in asked.text
    assert "[1] Harbor Loan Agreement" in asked.text
    assert "12th day of each month" in asked.text
    page = client.get("/sessions/answered").json()["page"]
    assert [message["role"] for message in page] == ["user", "assistant"]


def _answering(asked: Asked) -> Text:
    if "Conversation summarizer" in asked.text:
        return Text("The user asks about the Determination Date. Key topics: Determination Date.")
    return Text("The 12th day of each month [1].")


@pytest.mark.parametrize("stored", [True, False], ids=["session", "context"])
def test_the_model_gets_a_summary_and_the_last_four_turns(
    client: httpx.Client, provider: FakeProvider, stored: bool
) -> None:
    provider.default = _answering
    turns = 12
    said: list[dict[str, str]] = []
    for turn in range(turns):
        question = f"What is the Determination Date of part {turn + 100}? " + "Be exact." * 10
        more = {"session_id": "windowed"} if stored else {"conversation_context": said[-20:]}
        reply = ask(client, question, scope="documents", **more)
        said += [
            {"role": "user", "content": question},
            {"role": "assistant", "content": reply["answer"]},
        ]
    last = [one for one in provider.asked if "Knowledge retriever" in one.text][-1]
    _system, *before, _question = last.messages
    texts = [str(one["content"]) for one in before]
    assert texts[0].startswith("Earlier in this conversation:")
    assert [one for one in texts[1:] if "of part" in one] == [
        one["content"] for one in said[-10:-2:2]
    ]
    assert len(texts) == 1 + 2 * 4
    assert sum(map(estimate_tokens, texts)) <= 1100


def test_a_model_that_fails_costs_the_answer_and_nothing_else(
    client: httpx.Client, provider: FakeProvider
) -> None:
    provider.play(Failure(429, "slow down, please"))
    reply = ask(client, ASKED, session_id="failed")
    assert reply["answer"] is None
    assert "slow down, please" in reply["answer_error"]
    assert "12th day" in reply["chunks"][0]["text"]
    assert client.get("/sessions/failed").json()["messages"] == 1


def test_a_slow_model_holds_up_neither_hooks_nor_other_questions(
    client: httpx.Client, library: Any, provider: FakeProvider
) -> None:
    provider.play(Slow())
    with meanwhile(lambda: ask(client, ASKED)) as answers, library.client() as other:
        while not provider.asked:  # the model has the question, and keeps it
            assert ask(other, ASKED, answer=False)["chunks"]
        assert other.post("/route", json={"message": "hello", "log": False}).status_code == 200
        assert answers == []
        provider.released.set()
    assert answers[0]["answer"] is None
    assert answers[0]["chunks"]


def test_a_service_that_stops_lets_go_of_who_waits_for_a_model(
    folder: Path, provider: FakeProvider
) -> None:
    add_documents(Workspace(folder, folder / "kds-brain"))
    provider.play(Slow())
    with (
        running(folder) as service,
        service.client() as client,
        meanwhile(lambda: ask(client, ASKED)) as answers,
    ):
        wait_until(lambda: provider.asked)
        service.stop()
    assert answers[0]["answer_error"] == "the service is stopping"


LEANS: dict[str, Any] = {
    "query": "Do they pay it?",
    "conversation_context": [
        {"role": "user", "content": "What is the late fee?"},
        {"role": "assistant", "content": "2 percent, paid by the Servicer."},
    ],
    "answer": False,
}
"""The rules do not know who "they" are."""


def test_a_model_rewrites_where_the_rules_do_not_know(
    client: httpx.Client, provider: FakeProvider
) -> None:
    provider.play(Text("Does the Servicer pay the late fee?"))
    reply = ask(client, **LEANS)
    assert reply["rewritten_query"] == "Does the Servicer pay the late fee?"
    assert reply["rewriting"]["by"] == "model"
    assert reply["timings_ms"]["model_rewriting"] > 0
    assert ask(client, **LEANS)["rewritten_query"] == "Does the Servicer pay the late fee?"
    assert len(provider.asked) == 1  # its answer is kept


def test_a_message_is_rewritten_by_a_model_while_others_are_routed(
    client: httpx.Client, library: Any, provider: FakeProvider
) -> None:
    conversation = {"conversation": "leans"}
    client.post("/route", json={"message": "What is the late fee?", **conversation})
    provider.play(Slow())
    body = {"message": "Do they pay it?", **conversation}
    with meanwhile(lambda: client.post("/route", json=body).json()) as turns:
        assert provider.wait_asked()
        with library.client() as other:
            call = {"session_id": "leans", "prompt": "Do they pay it now?"}
            assert other.post("/hook", json=call).status_code in (200, 204)
        assert turns == []
        assert len(provider.asked) == 1  # a hook never waits for a model
        provider.released.set()
    assert turns[0]["rewriting"]["outcome"] in ("failed", "resting")
