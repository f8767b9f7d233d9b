"""Memory and documents as LangChain retrievers."""

from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

import pytest

from kds.agents.retrievers import DocumentRetriever, MemoryRetriever
from kds.brain.documents.store import DocumentStore
from kds.brain.documents.values import Block, Content, Part, Source, read_heading
from kds.brain.errors import StoreError
from kds.brain.memory.memory_store import RECALL, SqliteStore

SAID = (
    "Staging uses port 8443.",
    "The port of production is 443.",
    "The staging port is open to the office only.",
    "Port 8443 on staging answers slowly.",
)


@pytest.fixture
def memory(tmp_path: Path) -> Iterator[SqliteStore]:
    with SqliteStore(tmp_path / "memory.db") as store:
        session = store.create_session(title="Ports", session_id="ports")
        for text in SAID:
            store.append(session.id, "user", text, speaker="Ada")
        other = store.create_session(session_id="lunch")
        store.append(other.id, "assistant", "```python\ndef book_table(at):\n    return at\n```")
        yield store


def test_a_memory_says_where_it_comes_from_and_why_and_is_measured(memory: SqliteStore) -> None:
    [document] = MemoryRetriever(memory=memory, k=1).invoke("which port does staging use")
    assert document.page_content in SAID
    found = document.metadata
    assert (found["session_id"], found["role"], found["speaker"]) == ("ports", "user", "Ada")
    assert (found["kind"], found["elsewhere"]) == ("prose", False)
    assert memory.message(found["message_id"]).at == datetime.fromisoformat(found["at"])
    assert 0 < found["score"] <= 1.5
    assert found["why"]
    [metric] = memory.metrics.since(datetime.fromisoformat("2020-01-01T00:00:00Z"), name=RECALL)
    assert metric.data["surface"] == "retriever"
    [document] = MemoryRetriever(memory=memory, session_id="ports").invoke("book_table")
    assert document.metadata["elsewhere"]
    assert document.metadata["kind"] == "code"


FEES = ("Fees", '"Fee" means 1 % of the sum.', '"Late Fee" means 2 % of what is late.')
NOTICE = ("Notice", "Notice of the fee is given in writing.", "The fee of a notice is nothing.")


@pytest.fixture
def documents(tmp_path: Path) -> Iterator[DocumentStore]:
    with DocumentStore(tmp_path / "documents.db") as store:
        for number, (heading, *texts) in enumerate((FEES, NOTICE)):
            part = Part(read_heading(f"1.{number} {heading}", 1), tuple(map(Block, texts)))
            source = Source(f"/x/{heading.lower()}.txt", 1, datetime.now(UTC), "")
            store.put(Content(f"The {heading}", "text", (part,)), source)
        yield store


def test_a_document_says_where_it_stands_and_why(documents: DocumentStore) -> None:
    [found] = DocumentRetriever(documents=documents, k=1).invoke("What is the Fee?")
    assert found.page_content == '"Fee" means 1 % of the sum.'
    assert found.metadata["citation"] == "The Fees, Section 1.0 Fees > Fee"
    assert (found.metadata["source"], found.metadata["terms"]) == ("/x/fees.txt", ["Fee"])
    assert found.metadata["section"] == ["1.0 Fees"]
    assert found.metadata["why"]


def test_a_document_may_be_preferred_or_be_the_only_one(documents: DocumentStore) -> None:
    preferring = DocumentRetriever(documents=documents, document="notice.txt")
    biased = {one.metadata["title"]: one.metadata["bias"] for one in preferring.invoke("fee")}
    assert biased == {"The Fees": 1.0, "The Notice": 1.15}
    only = DocumentRetriever(documents=documents, scope="notice.txt")
    assert {one.metadata["title"] for one in only.invoke("fee")} == {"The Notice"}
    with pytest.raises(StoreError):
        DocumentRetriever(documents=documents, scope="nowhere").invoke("fee")
