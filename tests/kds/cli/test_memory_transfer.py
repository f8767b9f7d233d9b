"""Exports of any size come back, and a search goes on where its embedding model is missing."""

import json
from datetime import timedelta
from pathlib import Path

import pytest

from kds.brain.sessions.entities import EntitySession
from kds.brain.sessions.memory_place import MemoryPlace
from kds.brain.workspace import Workspace

from ..conftest import Run, data, refused

pytestmark = pytest.mark.usefixtures("fitted_workspace")

LINE = "The deploy of the billing service ran into a time limit again. "


def _filled(root: Path, sessions: int, messages: int) -> None:
    with MemoryPlace.of(Workspace(root, root / "kds-brain")).open() as store:
        for number in range(sessions):
            store.create_session(session_id=f"s{number}", title=f"Session {number}")
            for each in range(messages):
                store.append(f"s{number}", "user", f"{each} {LINE * 40}")


def test_an_export_of_several_megabytes_is_taken_back(
    kds_call: Run, fitted_workspace: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    _filled(fitted_workspace, 4, 300)
    written = data(kds_call("memory", "export", "--all", "--to", "all.json", "--json"))
    file = fitted_workspace / "all.json"
    assert file.stat().st_size > 3_000_000
    other = tmp_path / "other"
    (other / "kds-brain").mkdir(parents=True)
    back = data(kds_call("memory", "import", str(file), "-w", str(other), "--json"))["sessions"]
    assert len(back) == written["sessions"] == 4
    again = kds_call("memory", "export", "--all", "--to", "again.json", "-w", str(other))
    assert again.code == 0
    assert json.loads(file.read_text()) == json.loads(Path("again.json").read_text())


def test_a_large_export_that_was_cut_off_stores_nothing(
    kds_call: Run, fitted_workspace: Path, tmp_path: Path
) -> None:
    _filled(fitted_workspace, 2, 400)
    kds_call("memory", "export", "--all", "--to", "all.json")
    cut = fitted_workspace / "cut.json"
    cut.write_text((fitted_workspace / "all.json").read_text()[:-50_000])
    other = tmp_path / "other"
    (other / "kds-brain").mkdir(parents=True)
    refused(kds_call("memory", "import", str(cut), "-w", str(other)), "session 1 does not end")
    assert not (other / "kds-brain" / "memory.db").exists()


def test_words_are_searched_where_the_embedding_model_cannot_be_imported(
    kds_call: Run, fitted_workspace: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    _filled(fitted_workspace, 1, 1)
    monkeypatch.setenv("RAG_EMBEDDINGS", "not_there:Model")
    found = kds_call("memory", "search", "billing deploy", "--json")
    assert found.code == 0
    assert len(json.loads(found.out)["hits"]) > 0
    assert "searching by words alone" in found.err
    refused(kds_call("memory", "search", "billing", "--embeddings", "not_there:Model"), "not_there")


def test_a_session_is_shown_with_its_terms_and_where_they_come_from(
    kds_call: Run, fitted_workspace: Path
) -> None:
    _filled(fitted_workspace, 1, 1)
    with MemoryPlace.of(
        Workspace(fitted_workspace, fitted_workspace / "kds-brain")
    ).open() as store:
        terms = EntitySession(store.entities, "s0", timedelta(hours=4))
        terms.remember_turn(["time limit"], answer="The time limit is 30 s. It can be raised.")
    shown = data(kds_call("memory", "show", "s0", "--json"))["terms"]
    assert [(one["term"], "30 s" in one["snippet"]) for one in shown] == [("time limit", True)]
    assert "time limit: The time limit is 30 s." in kds_call("memory", "show", "s0").out
