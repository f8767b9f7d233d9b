"""Chunks get their vectors in the background, while nobody asks, and not for ever in vain."""

from pathlib import Path
from typing import Any

import httpx
import pytest

from .conftest import running, wait_until


def test_a_service_embeds_by_itself_and_gets_over_a_model_that_fails(
    folder: Path, embeddings: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("RAG_EMBEDDINGS", embeddings)
    down = tmp_path / "down"
    down.touch()
    for name in ("EMBED_LOOK_S", "BACK_OFF_S"):
        monkeypatch.setattr(f"kds.service.workspaces.{name}", 0.02)
    monkeypatch.setattr("kds.service.workspaces.PAUSE_S", 0.0)  # what is polled here is never idle
    with running(folder) as service, service.client() as client:
        client.post("/sessions", json={"id": "s"})
        said = {"role": "user", "content": "the fee is late"}
        client.post("/sessions/s/messages", json=said)
        wait_until(lambda: _stats(client)["embedding"]["last_error"])
        found = _stats(client)["embedding"]
        assert "the model is down" in found["last_error"]
        assert found["model"] == embeddings
        down.unlink()
        (one,) = service.service._workspaces
        store = one.memory_if_any()
        assert store is not None
        store.retry_embeddings()
        wait_until(lambda: _stats(client)["embedding"]["last_error"] is None)
    told = [line for line in service.lines if "embed" in line]
    assert ["cannot embed" in told[0], "works again" in told[1]] == [True, True]


def _stats(client: httpx.Client) -> dict[str, Any]:
    stats: dict[str, Any] = client.get("/api/memory/debug/stats").json()
    return stats
