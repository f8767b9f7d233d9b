"""Where a workspace is, for the command line as for the hook, and what its folder may be."""

import os
import shutil
import stat
import subprocess
from pathlib import Path

import pytest

from kds.brain.environment import find_workspace
from kds.brain.errors import WorkspaceError
from kds.brain.workspace import Workspace

needs_git = pytest.mark.skipif(shutil.which("git") is None, reason="needs git")


def found(start: Path) -> Path:
    """The root of the workspace that everybody finds, the hook included."""
    root = Workspace.find(start, environ={}).root
    hooks = find_workspace(str(start))
    assert hooks is None or hooks == (str(root), str(root / "kds-brain"))
    return root


def git(folder: Path, *words: str) -> str:
    command = ["git", "-C", str(folder), "-c", "user.name=a", "-c", "user.email=a@example.com"]
    return subprocess.run([*command, *words], check=True, capture_output=True, text=True).stdout


def test_the_nearest_parent_with_a_brain_wins_links_followed(tmp_path: Path) -> None:
    (tmp_path / "kds-brain").mkdir()
    project = tmp_path / "project"
    (project / "src" / "deep").mkdir(parents=True)
    (tmp_path / "link").symlink_to(project / "src")
    for made, root in (
        (None, tmp_path),
        (project / "KDS" / "kds-brain", project / "KDS"),
        (project / "kds-brain", project),
    ):
        if made:
            made.mkdir(parents=True)
        assert found(project / "src" / "deep") == found(tmp_path / "link") == root
    named = Workspace.find(tmp_path / "elsewhere", environ={"KDS_HOME": str(project)})
    assert named == Workspace(project, project / "kds-brain")


def test_without_any_nothing_is_made(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert Workspace.find(environ={}).root == tmp_path
    assert list(tmp_path.iterdir()) == []


def test_impossible_folders_lead_nowhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "a").symlink_to(tmp_path / "b")
    (tmp_path / "b").symlink_to(tmp_path / "a")
    assert find_workspace(str(tmp_path / "a")) is None
    (tmp_path / "gone").mkdir()
    monkeypatch.chdir(tmp_path / "gone")
    (tmp_path / "gone").rmdir()
    with pytest.raises(WorkspaceError, match="KDS_HOME"):
        Workspace.find(environ={})
    monkeypatch.setenv("KDS_HOME", "~nobody-at-all")
    assert find_workspace(str(tmp_path)) is None
    with pytest.raises(WorkspaceError, match="no such user"):
        Workspace.find(tmp_path)


@needs_git
def test_worktrees_share_the_workspace_and_who_claims_to_be_one_does_not(tmp_path: Path) -> None:
    shop, tree, evil = (tmp_path / name for name in ("shop", "shop-fix", "evil"))
    (shop / "kds-brain").mkdir(parents=True)
    git(shop, "init", "-q")
    git(shop, "commit", "-q", "--allow-empty", "-m", "Begin")
    git(shop, "worktree", "add", "-q", str(tree))
    (tree / "src").mkdir()
    assert found(tree) == found(tree / "src") == shop
    evil.mkdir()
    for text in ((tree / ".git").read_text(), "gitdir: nowhere"):
        (evil / ".git").write_text(text)
        assert find_workspace(str(evil)) is None
    (tree / "kds-brain").mkdir()
    assert found(tree / "src") == tree


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() != 0, reason="needs to be root")
def test_a_workspace_that_somebody_else_put_above_is_passed_over(tmp_path: Path) -> None:
    work, foreign = tmp_path / "shared" / "mine", tmp_path / "shared" / "kds-brain"
    work.mkdir(parents=True)
    foreign.mkdir()
    os.chown(foreign, 65534, 65534)
    assert Workspace.find(work, environ={}).brain != foreign
    os.chown(work, 65534, 65534)  # in their project, theirs is the one that is meant
    assert Workspace.find(work, environ={}).brain == foreign


@pytest.mark.parametrize("umask", [0, 0o777])
def test_the_folder_is_made_for_its_owner_alone_under_any_umask(tmp_path: Path, umask: int) -> None:
    place = Workspace.find(tmp_path, environ={})
    before = os.umask(umask)
    try:
        place.ensure()
        place.ensure()
    finally:
        os.umask(before)
    assert stat.S_IMODE(place.brain.stat().st_mode) == 0o700


@pytest.mark.parametrize(
    ("way", "wrong", "fix"),
    [
        ("a file", "not a folder", "rename"),
        ("a link", "is a link", "replace it"),
        ("a link to nowhere", "is a link", "replace it"),
        ("a folder of mode 0500", "may not be written", "chmod"),
        ("a parent of mode 0500", "Permission denied", "writable"),
    ],
)
def test_a_wrong_folder_is_an_error(users_folder: Path, way: str, wrong: str, fix: str) -> None:
    place = Workspace.find(users_folder, environ={})
    place.check()
    if way == "a file":
        place.brain.touch()
    elif way == "a link":
        place.brain.symlink_to(users_folder)
    elif way == "a link to nowhere":
        place.brain.symlink_to(users_folder / "nowhere")
    elif way == "a folder of mode 0500":
        place.brain.mkdir(mode=0o500)
    else:
        users_folder.chmod(0o500)
    for call in (place.ensure, place.check):
        with pytest.raises(WorkspaceError, match=wrong) as caught:
            call()
        assert caught.value.where == str(place.brain)
        assert fix in str(caught.value.hint)
        assert "KDS_HOME" in str(caught.value.hint)


@needs_git
def test_git_leaves_a_new_workspace_alone_but_for_what_a_team_shares(tmp_path: Path) -> None:
    git(tmp_path, "init", "-q")
    place = Workspace(tmp_path, tmp_path / "kds-brain")
    place.ensure()
    shared = ["README.md", "rules/team.yaml", "settings.yaml"]
    private = ["conversation-context.jsonl", "service.token", "cache/model.npz", "init/a.before"]
    for name in (*private, *shared):
        path = place.brain / name
        path.parent.mkdir(exist_ok=True)
        path.touch()
    git(tmp_path, "add", "-A")
    listed = [f"kds-brain/{name}" for name in (".gitignore", *shared)]
    assert git(tmp_path, "ls-files").split() == listed
