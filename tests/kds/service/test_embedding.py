"""Chunks get their vectors in the background, while nobody asks, and not for ever in vain."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from kds.api.conversations import Conversations
from kds.brain.memory.memory_store import MemoryPlace
from kds.brain.workspace import Workspace
from kds.service.jobs import BACK_OFF_S, BATCH, EmbeddingQueue
from kds.service.workspaces import ServedWorkspace

from ..query.place import add_documents
from .conftest import running, wait_until

MODEL = "tests.kds.service.embedding_model:Letters"


@pytest.fixture
def served(fitted_workspace: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[ServedWorkspace]:
    """A workspace with a conversation of twelve messages, and an embedding model."""
    monkeypatch.setenv("RAG_EMBEDDINGS", MODEL)
    place = Workspace(fitted_workspace, fitted_workspace / "kds-brain")
    with MemoryPlace(place).open() as store:
        session = store.create_session().id
        for number in range(12):
            store.append(session, "user", f"message number {number}")
    one = ServedWorkspace(Conversations.open(place))
    yield one
    one.close()


def waiting(served: ServedWorkspace) -> list[int]:
    store = served.memory_if_any()
    assert store is not None
    return [model.waiting for model in store.models()]


def vectors(served: ServedWorkspace) -> int:
    store = served.memory_if_any()
    assert store is not None
    return sum(model.vectors for model in store.models())


def test_what_waits_is_embedded_while_nobody_asks(served: ServedWorkspace) -> None:
    lines: list[str] = []
    EmbeddingQueue(served, lambda: 60.0, lines.append).look()
    assert waiting(served) == [0]
    assert vectors(served) == served.embedding.embedded == 12
    assert served.queries.embedder.ready is not None
    assert lines == []


def test_without_a_setting_the_shipped_encoder_embeds_and_off_leaves_it_out(
    served: ServedWorkspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("RAG_EMBEDDINGS", "off")
    EmbeddingQueue(served, lambda: 60.0, print).look()
    assert vectors(served) == 0
    monkeypatch.delenv("RAG_EMBEDDINGS")
    EmbeddingQueue(served, lambda: 60.0, print).look()
    store = served.memory_if_any()
    assert store is not None
    assert [(one.name, one.vectors) for one in store.models()] == [("shipped", 12)]


def test_nothing_is_embedded_while_somebody_asks(served: ServedWorkspace) -> None:
    EmbeddingQueue(served, lambda: 0.0, print).look()
    assert served.embedding.embedded == 0


def test_a_batch_is_the_last_one_when_somebody_comes(served: ServedWorkspace) -> None:
    idle = iter([60.0, 60.0])
    EmbeddingQueue(served, lambda: next(idle, 0.0), print).look()
    assert served.embedding.embedded == BATCH


def test_documents_are_embedded_too(served: ServedWorkspace) -> None:
    add_documents(served.workspace)
    EmbeddingQueue(served, lambda: 60.0, print).look()
    store = served.queries.library.store
    assert store is not None
    assert [model.waiting for model in store.models()] == [0]


def test_a_model_that_fails_is_left_alone_longer_and_longer_and_logged_once(
    served: ServedWorkspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("KDS_TEST_EMBEDDING_FAILS", "1")
    now = 0.0
    lines: list[str] = []
    queue = EmbeddingQueue(served, lambda: 60.0, lines.append, clock=lambda: now)
    queue.look()
    queue.look()
    assert served.embedding.failures == 1
    now += BACK_OFF_S
    _fail_again(served)
    queue.look()
    assert served.embedding.failures == 2
    assert "the model is out" in (served.embedding.last_error or "")
    assert len(lines) == 1
    assert "cannot embed" in lines[0]
    monkeypatch.delenv("KDS_TEST_EMBEDDING_FAILS")
    now += BACK_OFF_S
    queue.look()
    assert served.embedding.embedded == 0  # twice as long this time
    now += BACK_OFF_S
    _fail_again(served)
    queue.look()
    assert vectors(served) == 12
    assert lines[1].startswith("embedding works again")


def test_a_service_embeds_by_itself(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RAG_EMBEDDINGS", MODEL)
    monkeypatch.setattr("kds.service.jobs.PAUSE_S", 0.01)
    monkeypatch.setattr("kds.service.jobs.EMBED_LOOK_S", 0.02)
    with running(folder) as service, service.client() as client:
        client.post("/sessions", json={"id": "s"})
        said = {"role": "user", "content": "the fee is late"}
        client.post("/sessions/s/messages", json=said)

        def embedded() -> int:
            return int(_stats(client)["embedding"]["embedded"])

        assert wait_until(embedded) >= 1
        assert _stats(client)["embedding"]["model"] == MODEL


def _stats(client: httpx.Client) -> dict[str, Any]:
    stats: dict[str, Any] = client.get("/api/memory/debug/stats").json()
    return stats


def _fail_again(served: ServedWorkspace) -> None:
    store = served.memory_if_any()
    assert store is not None
    store.retry_embeddings()
