"""What the released version wrote opens, and nothing in it is lost.

`workspace-0.1.0.zip` is a workspace of KDS 0.1.0 with its own `kds memory export --all`: two
sessions with code and a system message, summaries of both kinds, vectors of a model (two passages
still wait), a profile with consent, terms, measurements, an item of the former LangGraph store, one
document, and the conversation context.
"""

import json
from datetime import UTC, datetime
from pathlib import Path
from zipfile import ZipFile

import pytest
from click.testing import CliRunner

from kds.brain.memory.memory_store import SqliteStore
from kds.cli.main import app

ARCHIVE = Path(__file__).with_name("workspace-0.1.0.zip")


@pytest.fixture
def released(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    with ZipFile(ARCHIVE) as archive:
        archive.extractall(tmp_path)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def run(*arguments: str) -> str:
    result = CliRunner().invoke(app, arguments, catch_exceptions=False)
    assert result.exit_code == 0, result.output
    return result.stdout


def test_conversations_are_exported_as_they_were(released: Path) -> None:
    exported = json.loads(run("memory", "export", "--all"))["sessions"]
    before = json.loads((released / "export.json").read_text())["sessions"]
    assert [
        {key: now[key] for key in then} for now, then in zip(exported, before, strict=True)
    ] == (
        before  # a later version may export more fields
    )


def test_what_stands_beside_the_conversations_is_there(released: Path) -> None:
    with SqliteStore(released / "kds-brain" / "memory.db") as store:
        assert len(store.sessions()) == 2
        assert [one.kind for one in store.summaries("staging-20261120")] == ["periodic", "rolling"]
        (model,) = store.models()
        assert (model.name, model.vectors, model.waiting) == ("fixture", 24, 2)
        assert [one.action for one in store.profile.events()] == ["granted", "changed"]
        profile = store.profile.use("a test")
        assert profile is not None
        assert (profile.name, profile.preferences) == ("Ada", {"answers": "short"})
        assert len(store.metrics.since(datetime(2026, 1, 1, tzinfo=UTC))) == 5
        assert store.check().problems == ()


def test_messages_are_found_by_their_words(released: Path) -> None:
    assert "8403" in run("memory", "search", "port of service3")


def test_the_document_and_the_context_are_there(released: Path) -> None:
    assert "Staging uses port 8443" in run("docs", "search", "staging port")
    lines = (released / "kds-brain" / "conversation-context.jsonl").read_text()
    assert "FAB" in lines
