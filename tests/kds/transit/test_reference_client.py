"""Both reference clients: they send the same, understand the same, and lose no history."""

import json
import threading
import uuid
from collections.abc import Iterator
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler
from pathlib import Path
from typing import Any

import pytest

from kds.transit import Message, QueryClient, QueryError

from ...agents.openai_server import listening
from ...effort import PATIENCE_S
from .conftest import RunNode


@dataclass
class Script:
    """What the server answers, one after the other; what it was asked."""

    replies: list[tuple[int, bytes]] = field(default_factory=list)
    asked: list[dict[str, Any]] = field(default_factory=list)
    released: threading.Event = field(default_factory=threading.Event)

    def answers(self, *contents: dict[str, Any] | tuple[int, bytes]) -> None:
        for content in contents:
            done = content if isinstance(content, tuple) else (200, json.dumps(content).encode())
            self.replies.append(done)


@pytest.fixture
def script() -> Script:
    return Script()


@pytest.fixture(params=["http", "unix"])
def address(request: pytest.FixtureRequest, tmp_path: Path, script: Script) -> Iterator[str]:
    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["Content-Length"]))
            key, workspace = self.headers["Authorization"], self.headers["Kds-Workspace"]
            asked = {"path": self.path, "key": key, "workspace": workspace, **json.loads(body)}
            script.asked.append(asked)
            status, content = script.replies.pop(0)
            if status == 0:  # never
                script.released.wait()
                return
            self.send_response(status)
            self.send_header("Content-Length", str(len(content)))
            self.end_headers()
            self.wfile.write(content)

        def address_string(self) -> str:
            return "client"

        def log_message(self, format: str, *args: object) -> None:
            pass

    with listening(Handler, tmp_path / "s" if request.param == "unix" else None) as found:
        yield found
        script.released.set()


FIRST = {
    "rewritten_query": "What is the fee?",
    "chunks": [{"text": "1 %"}],
    "answer": "word " * 150,
}
SECOND = {"rewritten_query": "When is the fee due?", "chunks": [], "answer": None}

TALK = """
const options = { token: "t", workspace: "/my shop", sessionId: "s", sourcePath: "a.md" };
const client = new QueryClient(given.address, options);
const first = await client.ask("What is the fee?");
const second = await client.ask("When is it due?", { limit: 3 });
done([first, second, client.history]);
"""


def _talk(address: str) -> list[Any]:
    client = QueryClient(
        address, token="t", workspace="/my shop", session_id="s", source_path="a.md"
    )
    first = client.ask("What is the fee?")
    second = client.ask("When is it due?", limit=3)
    return [first, second, [message.as_dict() for message in client.history]]


def test_both_clients_say_the_same(address: str, script: Script, node: RunNode) -> None:
    script.answers(FIRST, SECOND, FIRST, SECOND)
    told = _talk(address)
    first, second = script.asked
    history = told[2]
    assert first == {
        "path": "/query", "key": "Bearer t", "workspace": "/my%20shop", "query": "What is the fee?",
        "conversation_context": [], "session_id": "s", "source_path": "a.md",
    }  # fmt: skip
    assert second["limit"] == 3
    assert second["conversation_context"] == history[:2]
    assert [len(message["content"]) for message in history] == [16, 496, 15]
    assert told == node(TALK, {"address": address})
    assert script.asked[:2] == script.asked[2:]


@pytest.mark.parametrize("language", ["python", "javascript"])
def test_a_client_has_a_session_of_its_own_unless_told_otherwise(
    address: str, script: Script, node: RunNode, language: str
) -> None:
    script.answers(*[SECOND] * 4)
    if language == "python":
        client = QueryClient(address)
        clients = [client, client, QueryClient(address), QueryClient(address, session_id=None)]
        for one in clients:
            one.ask("When?")
    else:
        node(OWN_SESSIONS, {"address": address})
    first, again, other, none = (one.get("session_id") for one in script.asked)
    assert str(uuid.UUID(first)) == first == again
    assert str(uuid.UUID(other)) == other != first
    assert none is None


OWN_SESSIONS = """
const client = new QueryClient(given.address);
const other = new QueryClient(given.address);
const none = new QueryClient(given.address, { sessionId: null });
for (const one of [client, client, other, none]) await one.ask("When?");
done(true);
"""

REFUSAL = json.dumps({"error": {"message": "the query is empty", "where": "q", "hint": "ask"}})
TROUBLES: list[tuple[tuple[int, bytes], tuple[str, int, str | None]]] = [
    ((400, REFUSAL.encode()), ("q: the query is empty", 400, "ask")),
    ((502, b"[]"), ("the service answered with status 502", 502, None)),
    ((200, b"<html>"), ("the answer is not JSON", 200, "is it a KDS service?")),
    ((200, b"{}"), ("not an answer to a question", 0, "is it a KDS service?")),
    ((200, b"[]"), ("the service answered with status 200", 200, None)),
    ((0, b""), ("no answer within 0.3 s", 0, "see `kds service status`")),
]
FAIL = """
const failures = [];
for (const [address, timeoutS] of given.addresses) {
  const client = new QueryClient(address, { timeoutS });
  client.history = [{ role: "user", content: "before" }];
  try {
    await client.ask("x");
  } catch (error) {
    if (!(error instanceof QueryError)) throw error;
    failures.push([error.message, error.status, error.hint, client.history.length]);
  }
}
done(failures);
"""


def _failures(addresses: list[tuple[str, float]]) -> list[list[Any]]:
    failures: list[list[Any]] = []
    for address, timeout_s in addresses:
        client = QueryClient(address, timeout_s=timeout_s, history=[Message("user", "before")])
        with pytest.raises(QueryError) as caught:
            client.ask("x")
        error = caught.value
        failures.append([str(error), error.status, error.hint, len(client.history)])
    return failures


def test_both_clients_fail_alike(address: str, script: Script, node: RunNode) -> None:
    script.answers(*(reply for reply, _ in TROUBLES))
    script.answers(*(reply for reply, _ in TROUBLES))
    nowhere = ["nonsense", "ftp://127.0.0.1", "http://[::1", "http://127.0.0.1:x", ""]
    limits = [(address, PATIENCE_S if status else 0.3) for (status, _), _ in TROUBLES]
    addresses = [*limits, *((one, PATIENCE_S) for one in nowhere)]
    failures = _failures(addresses)
    assert failures[: len(TROUBLES)] == [[*said, 1] for _, said in TROUBLES]
    assert failures == node(FAIL, {"addresses": addresses})


@pytest.mark.parametrize("address", ["unix:/nowhere/s", "http://127.0.0.1:9"])
def test_a_service_that_is_not_there_is_named_as_the_trouble(address: str, node: RunNode) -> None:
    ((said, status, hint, _),) = _failures([(address, PATIENCE_S)])
    assert said.startswith("the service does not answer: ")
    assert (status, hint) == (0, "start it: kds service start")
    ((also_said, *others),) = node(FAIL, {"addresses": [(address, PATIENCE_S)]})
    assert also_said.startswith("the service does not answer: ")
    assert others == [0, hint, 1]
