"""A project whose git would commit the conversation: nothing is kept there, and KDS says so."""

import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from .conftest import Run, data, refused

SAID = "I want to add a telescope panel"

pytestmark = pytest.mark.skipif(shutil.which("git") is None, reason="needs git")


def git(folder: Path, *arguments: str) -> str:
    settings = "-c user.name=t -c user.email=t@example.org -c protocol.file.allow=always"
    identity = settings.split()
    command = ["git", "-C", str(folder), *identity, *arguments]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


RULES = "kds-brain/.gitignore"
OWN_RULES = {RULES: "!*\n"}


def written(root: Path, files: dict[str, str]) -> None:
    for name, text in files.items():
        (root / name).parent.mkdir(exist_ok=True)
        (root / name).write_text(text)


def added_by_force(name: str) -> Callable[[Path], None]:
    def add(root: Path) -> None:
        written(root, {RULES: "/*\n", name: ""})
        git(root, "add", "-f", name)

    return add


WAYS = {
    "rules of its own": OWN_RULES,
    "one name let through": {RULES: "/*\n!/memory.db\n"},
    "a folder let through": {RULES: "/*\n!/conversations/\n"},
    "rules above": {".gitignore": "*\n!kds-brain/\n!kds-brain/**\n", RULES: "# nothing\n"},
    "exclude file": {".git/info/exclude": "!kds-brain/**\n", RULES: ""},
    "a claim to be a repository": {RULES: "!*\n", "kds-brain/.git": "gitdir: /nowhere\n"},
    "added by force": added_by_force("kds-brain/memory.db"),
    "a conversation added by force": added_by_force("kds-brain/work/workspace.json"),
}


@pytest.mark.parametrize("way", WAYS.values(), ids=WAYS)
def test_where_git_would_commit_the_conversation_it_is_not_kept_and_the_message_routes(
    fitted_workspace: Path, kds_call: Run, way: dict[str, str] | Callable[[Path], None]
) -> None:
    git(fitted_workspace, "init", "-q")
    if isinstance(way, dict):
        written(fitted_workspace, way)
    else:
        way(fitted_workspace)
    result = kds_call("route", SAID, "--json")
    assert data(result)["intent"] == "PLAN"
    assert "not remembered" in result.err
    assert "git" in result.err
    refused(kds_call("context", "log", "--message", SAID, "--intent", "PLAN"), "git")
    assert data(kds_call("ask", SAID, "--json"))["turn"]["intent"] == "PLAN"
    brain = fitted_workspace / "kds-brain"
    kept = [one for one in brain.rglob("*") if one.is_file() and SAID.encode() in one.read_bytes()]
    assert kept == []
    assert "git" in {one["check"] for one in data(kds_call("doctor", "--json"), code=1)["findings"]
                     if one["mark"] == "problem"}  # fmt: skip


def test_doctor_mends_the_rules_and_says_what_takes_a_file_out_of_the_index(
    fitted_workspace: Path, kds_call: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("kds.brain.git.FRESH_S", 0.0)
    git(fitted_workspace, "init", "-q")
    written(fitted_workspace, OWN_RULES)
    with monkeypatch.context() as without_git:
        without_git.setattr("kds.brain.git.which", lambda name: None)
        assert kds_call("route", SAID).err == ""
    assert "kds doctor --fix" in kds_call("route", SAID).err
    kds_call("doctor", "--fix")
    assert kds_call("route", SAID).err == ""
    git(fitted_workspace, "add", "-A")
    assert git(fitted_workspace, "ls-files").split() == ["kds-brain/.gitignore"]
    git(fitted_workspace, "add", "-f", "kds-brain/conversation-context.jsonl")
    said = kds_call("route", "Make it purple").err
    assert "rm -r --cached conversation-context.jsonl" in said
    git(fitted_workspace / "kds-brain", "rm", "-r", "--cached", "conversation-context.jsonl")
    assert kds_call("route", "Make it purple").err == ""


@pytest.mark.parametrize(
    ("let_through", "closed"),
    [
        ("memory.db", {"memory.db", "learned.yaml"}),
        ("documents.db", {"documents.db"}),
        ("learned.yaml", set()),
    ],
)
def test_what_is_stored_beside_the_conversation_is_kept_unless_git_would_commit_it(
    fitted_workspace: Path, kds_call: Run, tmp_path: Path, let_through: str, closed: set[str]
) -> None:
    """A team may share what it taught; neither its talks nor the text of its documents."""
    document, export = tmp_path / "lease.md", tmp_path / "talks.json"
    document.write_text("# Lease\nThe rent is due on the first.\n")
    kds_call("ask", SAID)
    kds_call("memory", "export", "--all", "--to", str(export))
    git(fitted_workspace, "init", "-q")
    (fitted_workspace / "kds-brain" / ".gitignore").write_text(f"/*\n!/{let_through}\n")
    for file, command in {
        "memory.db": ("memory", "import", str(export)),
        "documents.db": ("docs", "add", str(document)),
        "learned.yaml": ("learn", "teach", "wrap this up", "COMMIT"),
    }.items():
        if file in closed:
            refused(kds_call(*command), f"git does not ignore {let_through}", "kds doctor --fix")
        else:
            assert kds_call(*command).code == 0
