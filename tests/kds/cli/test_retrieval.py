"""`kds eval retrieval`, as a user runs it."""

import json
from pathlib import Path

import pytest
import yaml

from ..conftest import Run

TALK = ("Which port does staging use?", "It listens on 8081.", "Thanks!", "I went to the dentist.")
DATA = {
    "conversations": [
        {
            "id": name,
            "messages": [{"id": str(at), "content": text} for at, text in enumerate(TALK)],
        }
        for name in ("a", "b")
    ],
    "queries": [
        {"conversation": name, "query": query, "relevant": [relevant], "category": category}
        for name in ("a", "b")
        for query, relevant, category in (
            ("staging port", "1", "port"), ("When did I go to the dentist?", "3", "time"),
        )
    ],
}  # fmt: skip


@pytest.fixture
def file(workspace: Path) -> str:
    Path("r.json").write_text(json.dumps(DATA))
    return "r.json"


def test_recall_is_scored(kds_call: Run, file: str, workspace: Path) -> None:
    result = kds_call("eval", "retrieval", file, "--json")
    assert (result.code, result.err) == (0, "")
    report = json.loads(result.out)
    assert report["recall_at_5"] == report["recall_at_10"] == 1.0
    assert 0.5 < report["ndcg_at_5"] <= 1.0
    assert set(report["by_category"]) == {"port", "time"}
    assert 0 < report["ms_p50"] <= report["ms_p95"]
    assert list(workspace.glob("kds-brain/*")) == []


def test_a_table_shows_every_category(kds_call: Run, file: str) -> None:
    out = kds_call("eval", "retrieval", file).out
    assert "category port" in out
    assert "100.0%" in out
    assert "ms a query" in out


def test_tuned_weights_are_written_on_request(kds_call: Run, file: str, workspace: Path) -> None:
    result = kds_call("eval", "retrieval", file, "--tune", "--write", "--json")
    weights = json.loads(result.out)["tuning"]["weights"]
    written = yaml.safe_load((workspace / "kds-brain" / "settings.yaml").read_text())
    assert written["recall"] == {f"rerank_{name}": value for name, value in weights.items()}


def test_a_model_of_the_users_own_is_used(
    kds_call: Run, file: str, workspace: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (workspace / "tiny_model.py").write_text(
        "class Tiny:\n"
        "    def embed_query(self, text): return [float('8081' in text or 'port' in text), 0.1]\n"
        "    def embed_documents(self, texts): return [self.embed_query(text) for text in texts]\n"
    )
    monkeypatch.syspath_prepend(workspace)
    result = kds_call("eval", "retrieval", file, "--embeddings", "tiny_model:Tiny", "--json")
    assert json.loads(result.out)["recall_at_10"] == 1.0
