"""Sessions on a server, by the user's own choice: from every machine of theirs, and no other's."""

from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest

from kds.brain.settings import load_settings
from kds.brain.workspace import Workspace
from kds.mcp.tools import Workplace
from kds.transcripts.arriving import session_start
from kds.transcripts.catalogue import AssistantMemory

from ..conftest import Run, data, refused
from .conftest import Write, contents
from .test_importing import git
from .test_recall_commands import DECIDED, QUESTION

on_server_only = pytest.mark.parametrize("either_engine", ["server"], indirect=True)
IN_DATABASE = "assistants:\n  in_database: true\n"


@pytest.fixture
def laptop(
    shop: Path, on_server: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Callable[[], Path]:
    """Go to another machine of the same person, in a clone of the shop."""
    git(shop, "commit", "--allow-empty", "-q", "-m", "x")
    git(shop, "remote", "add", "origin", "git@github.com:me/shop.git")
    home, clone = tmp_path / "laptop", tmp_path / "clone"
    (home / ".config" / "kds").mkdir(parents=True)
    (home / ".config" / "kds" / "settings.yaml").write_text(IN_DATABASE)
    git(tmp_path, "clone", "-q", "--no-local", str(shop), str(clone))
    git(clone, "remote", "set-url", "origin", "https://github.com/me/shop")

    def go() -> Path:
        monkeypatch.setenv("HOME", str(home))
        monkeypatch.chdir(clone)
        return clone

    return go


@on_server_only
def test_what_was_imported_on_one_machine_is_found_forgotten_and_excluded_on_another(
    laptop: Callable[[], Path], shop: Path, home: Path, kds_call: Run,
    monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    kds_call("memory", "import", "--from", "codex,claude")
    assert not list(home.rglob("1.db"))
    clone = laptop()
    assert DECIDED in kds_call(*QUESTION).out
    settings = load_settings(Workspace.find(clone))
    assert "the last session here" in (session_start(settings, str(clone), None) or "")
    found = Workplace(Workspace.find(clone)).recall("which port has staging?", False)
    assert DECIDED in found["passages"][0]["text"]
    assert "forgot 1 session" in kds_call("memory", "delete", "--client", "codex", "--yes").out
    assert "forgot 1 session" in kds_call("memory", "sources", "--exclude", str(shop)).out
    monkeypatch.setenv("HOME", str(home))
    monkeypatch.chdir(shop)
    for path in home.rglob("*.jsonl"):
        path.touch()  # as if they had changed
    told = data(kds_call("memory", "import", "--from", "codex,claude", "--json"))
    assert (told["messages"], told["forgotten"]) == ({}, 1)
    assert DECIDED not in kds_call(*QUESTION).out


@on_server_only
def test_another_person_of_the_server_sees_nothing_of_it(
    laptop: Callable[[], Path], kds_call: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    kds_call("memory", "import")
    monkeypatch.setenv("KDS_DATABASE_PERSON", "somebody else")
    assert "no sessions of assistants" in kds_call(*QUESTION, "--project", "all").out
    assert data(kds_call("memory", "sources", "--json"))["projects"] == []


@on_server_only
def test_what_was_forgotten_in_files_is_not_brought_to_a_server(
    shop: Path, home: Path, on_server: bool, kds_call: Run, claude: Write
) -> None:
    (home / ".config" / "kds" / "settings.yaml").unlink()
    claude("gone", "the zanzibar migration", folder=str(shop))
    kds_call("memory", "import", "--from", "codex,claude")
    kds_call("memory", "delete", "gone", "--project", "all", "--yes")
    kds_call("config", "set", "assistants.in_database", "on", "--own")
    kds_call("memory", "import", "--from", "codex,claude")
    with closing(AssistantMemory.of(load_settings(Workspace.find(shop)))) as memory:
        assert contents(memory)
        assert "zanzibar" not in str(contents(memory))


def test_a_server_that_is_not_named_is_asked_for(shop: Path, home: Path, kds_call: Run) -> None:
    own = home / ".config" / "kds" / "settings.yaml"
    own.parent.mkdir(parents=True)
    own.write_text(IN_DATABASE)
    refused(kds_call(*QUESTION), "no database is named", "KDS_DATABASE")
