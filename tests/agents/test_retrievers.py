"""The memory as a LangChain retriever."""

from collections.abc import Iterator
from datetime import datetime
from pathlib import Path

import pytest

from kds.agents.retrievers import MemoryRetriever
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
