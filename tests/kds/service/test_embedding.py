"""Chunks get their vectors in the background, while nobody asks, and not for ever in vain."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from kds.api.conversations import Conversations
from kds.brain.memory.memory_store import MemoryPlace, MemoryStore
from kds.brain.workspace import Workspace
from kds.service.server import embed
from kds.service.workspaces import ServedWorkspace

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


def opened(served: ServedWorkspace) -> MemoryStore:
    store = served.memory_if_any()
    assert store is not None
    return store


def vectors(served: ServedWorkspace) -> dict[str, int]:
    """How many each model has made, with none left to do."""
    models = opened(served).models()
    assert not any(model.waiting for model in models)
    return {model.name: model.vectors for model in models}


def test_what_waits_is_embedded_while_nobody_asks(served: ServedWorkspace) -> None:
    embed(served, lambda: 60.0)
    assert vectors(served) == {MODEL: 12}
    assert served.embedding.embedded == 12
    assert served.queries.embedder.ready is not None


def test_without_a_setting_the_shipped_encoder_embeds_and_off_leaves_it_out(
    served: ServedWorkspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("RAG_EMBEDDINGS", "off")
    embed(served, lambda: 60.0)
    assert vectors(served) == {}
    monkeypatch.delenv("RAG_EMBEDDINGS")
    embed(served, lambda: 60.0)
    assert vectors(served) == {"shipped": 12}


def test_a_service_embeds_by_itself_and_gets_over_a_model_that_fails(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("RAG_EMBEDDINGS", MODEL)
    monkeypatch.setenv("KDS_TEST_EMBEDDING_FAILS", "1")
    for name in ("EMBED_LOOK_S", "BACK_OFF_S"):
        monkeypatch.setattr(f"kds.service.server.{name}", 0.02)
    monkeypatch.setattr("kds.service.server.PAUSE_S", 0.0)  # what is polled here is never idle
    with running(folder) as service, service.client() as client:
        client.post("/sessions", json={"id": "s"})
        said = {"role": "user", "content": "the fee is late"}
        client.post("/sessions/s/messages", json=said)
        wait_until(lambda: _stats(client)["embedding"]["failures"] >= 1)
        found = _stats(client)["embedding"]
        assert "the model is out" in found["last_error"]
        assert (found["model"], found["embedded"]) == (MODEL, 0)
        monkeypatch.delenv("KDS_TEST_EMBEDDING_FAILS")
        (one,) = service.service._workspaces
        opened(one).retry_embeddings()
        wait_until(lambda: _stats(client)["embedding"]["embedded"] >= 1)
        assert _stats(client)["embedding"]["last_error"] is None
    told = [line for line in service.lines if "embed" in line]
    assert ["cannot embed" in told[0], "works again" in told[1]] == [True, True]


def _stats(client: httpx.Client) -> dict[str, Any]:
    stats: dict[str, Any] = client.get("/api/memory/debug/stats").json()
    return stats
