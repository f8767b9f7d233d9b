"""`POST /query`: a question in, passages and perhaps an answer out, over socket and TCP."""

import asyncio
import json
import threading
from collections.abc import Callable, Iterator
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any

import httpx
import pytest
from tests.agents.openai_server import Asked, Failure, FakeProvider, Slow, Text

from kds.brain.memory.memory_store import MemoryPlace
from kds.brain.words.tokens import estimate_tokens
from kds.brain.workspace import Workspace
from kds.service.listening import HttpAddress
from kds.service.server import ServiceOptions
from kds.transit import Message, QueryClient, QueryError
from kds.transit.history import transit

from ...effort import PATIENCE_S
from ..query.place import add_documents
from .conftest import ask, running, wait_until

KEYS = {
    *("query", "rewritten_query", "rewriting", "intent", "chunks", "citations", "answer"),
    *("answer_error", "model", "session", "timings_ms", "warnings"),
}
CHUNK_KEYS = {
    *("text", "score", "bias", "citation", "document", "section", "page", "source_path", "line"),
    *("origin", "session", "message", "why"),
}
CROWD = 80
"""More clients than a TCP listener held before there were queries."""

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


def test_a_reply_may_bring_up_what_the_next_question_is_about(client: httpx.Client) -> None:
    context = [
        {"role": "user", "content": "When do we sign?"},
        {"role": "assistant", "content": "On the Closing Date."},
    ]
    reply = ask(client, "Is it ever moved?", conversation_context=context)
    assert reply["rewritten_query"] == "Is the Closing Date ever moved?"


def test_without_a_context_a_follow_up_stays_as_it_is(client: httpx.Client) -> None:
    reply = ask(client, THEN)
    assert reply["rewritten_query"] == THEN
    assert reply["rewriting"]["by"] == "nobody"


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


def test_the_context_that_is_sent_wins_and_the_session_remembers(client: httpx.Client) -> None:
    ask(client, "What is the late fee?", session_id="both")
    reply = ask(
        client, THEN, session_id="both",
        conversation_context=[{"role": "user", "content": ASKED}],
    )  # fmt: skip
    assert reply["rewritten_query"] == REWRITTEN
    assert reply["session"]["turn"] == 2
    assert reply["session"]["hit"] is False
    then = ask(client, "Who calculates it?", session_id="both", conversation_context=[])
    assert then["session"]["turn"] == 3


def test_a_context_beyond_the_contract_is_cut_and_not_refused(client: httpx.Client) -> None:
    long = [
        {"role": role, "content": f"{text} {number} " + "and so on " * 200}
        for number in range(100)
        for role, text in (("user", "What is the late fee"), ("assistant", "Two percent"))
    ]
    assert len(transit([Message(one["role"], one["content"]) for one in long])) < 20
    reply = ask(client, "Who pays it?", conversation_context=long)
    assert reply["timings_ms"]["total"] < 10_000


def test_passages_of_the_document_at_hand_count_more_and_hide_no_others(
    client: httpx.Client, library: Any
) -> None:
    asked = {"limit": 10, "scope": "documents"}
    plain = ask(client, "What does a late report or fee cost?", **asked)
    near = ask(client, "What does a late report or fee cost?", **asked, source_path="handbook.md")
    assert {chunk["bias"] for chunk in plain["chunks"]} == {1.0}
    lifted = {chunk["document"]: chunk["bias"] for chunk in near["chunks"]}
    assert lifted == {"Bakery Handbook": 1.15, "Harbor Loan Agreement": 1.0}
    whole = str(library.root / "handbook.md")
    assert ask(client, "fees", source_path=whole)["chunks"][0]["bias"] == 1.15


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


@pytest.mark.parametrize(
    ("scope", "where"), [("document", "source_path"), ("conversation", "session_id")]
)
def test_a_scope_that_names_nothing_is_bad_input(
    client: httpx.Client, scope: str, where: str
) -> None:
    reply = client.post("/query", json={"query": "fees", "scope": scope})
    assert (reply.status_code, reply.json()["error"]["where"]) == (400, where)


def test_a_document_that_is_not_there_is_a_warning(client: httpx.Client) -> None:
    reply = ask(client, "fees", scope="document", source_path="nowhere.md")
    assert reply["chunks"] == []
    assert "nowhere.md" in reply["warnings"][0]


def test_links_in_a_circle_are_a_document_that_is_not_there(
    client: httpx.Client, library: Any
) -> None:
    loop = library.root / "loop.md"
    loop.symlink_to(loop)
    for scope in ("all", "document"):
        reply = ask(client, "fees", scope=scope, source_path="loop.md")
        assert "loop.md" in reply["warnings"][0]
    session = client.post("/sessions", json={"document": "loop.md"}).json()
    assert "loop.md" in session["warnings"][0]
    asked = {"q": "fees", "conversationId": session["id"]}
    look = client.get("/api/memory/debug/retrieval", params=asked)
    assert look.status_code == 200
    assert "loop.md" in " ".join(look.json()["notes"])


def test_a_document_of_the_store_is_not_a_warning_of_a_session(client: httpx.Client) -> None:
    reply = client.post("/sessions", json={"document": "agreement.md"}).json()
    assert reply["warnings"] == []


@pytest.mark.parametrize(
    "body",
    [
        {},
        {"query": ""},
        {"query": 3},
        {"query": "x", "scope": "everywhere"},
        {"query": "x", "limit": 0},
        {"query": "x", "limit": 1000},
        {"query": "x", "answer": "yes"},
        {"query": "x", "session_id": "s" * 129},
        {"query": "x", "conversation_context": "what was said"},
        {"query": "x", "conversation_context": [{"role": "owner", "content": "x"}]},
        {"query": "x", "conversation_context": [{"role": "user", "content": "x", "at": 1}]},
        {"query": "x", "colour": "red"},
    ],
)
def test_a_body_that_is_not_of_the_schema_is_refused(client: httpx.Client, body: Any) -> None:
    assert client.post("/query", json=body).status_code == 422


@pytest.mark.parametrize("body", [{"query": " \n"}, {"query": "x", "session_id": " x"}])
def test_a_question_that_cannot_be_one_is_bad_input(client: httpx.Client, body: Any) -> None:
    assert client.post("/query", json=body).status_code == 400


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


def test_the_model_condenses_a_queried_session(
    client: httpx.Client, library: Any, provider: FakeProvider
) -> None:
    provider.default = _answering
    for turn in range(6):
        ask(client, f"What is the Determination Date of part {turn}?", session_id="condensed")
    wait_until(lambda: any("Conversation summarizer" in one.text for one in provider.asked))
    with MemoryPlace.of(library.workspaces[0]).open() as store:
        wait_until(lambda: store.summaries("condensed"))
        assert store.summaries("condensed")[0].text.startswith("The user asks about the Det")


def test_a_setting_says_how_many_turns_of_a_history_count(
    client: httpx.Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    context = [
        {"role": "user", "content": ASKED},
        {"role": "assistant", "content": "The 12th day of each month."},
    ]
    assert ask(client, THEN, conversation_context=context)["rewritten_query"] == REWRITTEN
    monkeypatch.setenv("KDS_HISTORY_MAX_TURNS", "0")
    assert ask(client, THEN, conversation_context=context)["rewritten_query"] == THEN


def test_without_answer_no_model_is_asked(client: httpx.Client, provider: FakeProvider) -> None:
    assert ask(client, ASKED, answer=False)["answer"] is None
    assert ask(client, "zxqv", answer=True, scope="documents")["warnings"] == [
        "nothing was found to answer from: no model was asked"
    ]
    assert provider.asked == []


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
    waiting: list[dict[str, Any]] = []
    thread = threading.Thread(target=lambda: waiting.append(ask(client, ASKED)))
    thread.start()
    with library.client() as other:
        while not provider.asked:  # the model has the question, and keeps it
            assert ask(other, ASKED, answer=False)["chunks"]
        assert other.post("/route", json={"message": "hello", "log": False}).status_code == 200
        assert thread.is_alive()
    provider.released.set()
    thread.join(PATIENCE_S)
    (reply,) = waiting
    assert reply["answer"] is None
    assert reply["chunks"]


def test_a_model_that_does_not_answer_in_time_costs_the_answer_alone(
    client: httpx.Client, provider: FakeProvider, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("KDS_MODEL_TIMEOUT_S", "0.3")
    provider.play(Slow())
    reply = ask(client, ASKED)
    assert reply["answer"] is None
    assert "in time" in reply["answer_error"] or "within" in reply["answer_error"]
    assert "; fix: " in reply["answer_error"]
    assert reply["model"] == "fake"
    assert reply["chunks"]


def test_a_service_that_stops_lets_go_of_who_waits_for_a_model(
    folder: Path, provider: FakeProvider
) -> None:
    add_documents(Workspace(folder, folder / "kds-brain"))
    provider.play(Slow())
    got: list[dict[str, Any]] = []
    with running(folder) as service:
        client = service.client()
        thread = threading.Thread(target=lambda: got.append(ask(client, ASKED)))
        thread.start()
        wait_until(lambda: provider.asked)
    thread.join(PATIENCE_S)
    client.close()
    assert got[0]["answer_error"] == "the service is stopping"


def test_the_reference_client_holds_a_conversation_over_both_doors(library: Any) -> None:
    state = json.loads(library.address.state_path.read_text())
    token = library.address.token_path.read_text().strip()
    doors = (
        QueryClient(f"unix:{library.address.socket_path}"),
        QueryClient(state["http"]["url"], token=token),
    )
    for client in doors:
        assert client.ask(ASKED).chunks
        assert client.ask(THEN).rewritten == REWRITTEN
    with pytest.raises(QueryError, match="no valid token"):
        QueryClient(state["http"]["url"], token="x" * 43).ask(ASKED)


def test_the_schema_documents_the_query_with_examples(client: httpx.Client) -> None:
    schema = client.get("/openapi.json").json()
    post = schema["paths"]["/query"]["post"]
    shown = post["responses"]["200"]["content"]["application/json"]["example"]
    assert KEYS - set(shown) <= {"answer_error"}  # FastAPI leaves out what is null
    assert set(shown["chunks"][0]) <= CHUNK_KEYS
    examples = schema["components"]["schemas"]["QueryRequest"]["examples"]
    for example in examples:
        assert client.post("/query", json=example).status_code == 200


LEANS = {
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


def test_a_model_that_rewrites_badly_leaves_the_reading_of_the_rules(
    client: httpx.Client, provider: FakeProvider
) -> None:
    provider.play(Text("The capital of France is Paris."))
    asked = {**LEANS, "query": "And do they like it?"}
    reply = ask(client, **asked)
    assert "Paris" not in reply["rewritten_query"]
    assert reply["rewriting"]["by"] in ("rules", "nobody")


def test_a_message_is_rewritten_by_a_model_while_others_are_routed(
    client: httpx.Client, library: Any, provider: FakeProvider
) -> None:
    conversation = {"conversation": "leans"}
    client.post("/route", json={"message": "What is the late fee?", **conversation})
    provider.play(Slow())
    waiting: list[dict[str, Any]] = []

    def route() -> None:
        body = {"message": "Do they pay it?", **conversation}
        waiting.append(client.post("/route", json=body).json())

    thread = threading.Thread(target=route)
    thread.start()
    assert provider.wait_asked()
    with library.client() as other:
        reply = other.post("/hook", json={"session_id": "leans", "prompt": "Do they pay it now?"})
        assert reply.status_code in (200, 204)
    assert thread.is_alive()
    assert len(provider.asked) == 1  # a hook never waits for a model
    provider.released.set()
    thread.join(PATIENCE_S)
    assert waiting[0]["rewriting"]["outcome"] in ("failed", "resting")


def test_many_clients_that_keep_their_connections_are_all_answered(library: Any) -> None:
    state = json.loads(library.address.state_path.read_text())
    headers = {"Authorization": f"Bearer {library.address.token_path.read_text().strip()}"}
    body = {"query": ASKED, "limit": 1}

    async def one(client: httpx.AsyncClient) -> list[int]:
        replies = [await client.post("/query", json=body) for _ in range(2)]
        return [reply.status_code for reply in replies]

    async def crowd() -> list[list[int]]:
        async with AsyncExitStack() as stack:
            clients = [
                await stack.enter_async_context(
                    httpx.AsyncClient(
                        base_url=state["http"]["url"],
                        headers=headers,
                        timeout=PATIENCE_S,
                        verify=False,
                    )
                )
                for _ in range(CROWD)
            ]
            return await asyncio.gather(*map(one, clients))

    assert asyncio.run(crowd()) == [[200, 200]] * CROWD
