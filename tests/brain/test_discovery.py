"""The hook finds the workspace that everybody else finds, or none yet."""

import shutil
import subprocess
from pathlib import Path

import pytest

from kds.brain.environment import find_workspace
from kds.brain.errors import WorkspaceError
from kds.brain.workspace import Workspace


def test_a_link_to_a_folder_leads_to_the_workspace_there(tmp_path: Path) -> None:
    (tmp_path / "project" / "kds-brain").mkdir(parents=True)
    (tmp_path / "project" / "src").mkdir()
    (tmp_path / "link").symlink_to(tmp_path / "project" / "src")
    project = tmp_path / "project"
    assert find_workspace(str(tmp_path / "link")) == (str(project), str(project / "kds-brain"))


def test_the_home_of_nobody_and_links_in_a_circle_lead_nowhere(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "a").symlink_to(tmp_path / "b")
    (tmp_path / "b").symlink_to(tmp_path / "a")
    assert find_workspace(str(tmp_path / "a")) is None
    monkeypatch.setenv("KDS_HOME", "~nobody-at-all")
    assert find_workspace(str(tmp_path)) is None
    with pytest.raises(WorkspaceError, match="no such user"):
        Workspace.find(tmp_path)


@pytest.fixture
def worktree(tmp_path: Path) -> Path:
    """A worktree beside the repository `shop`, which has a `kds-brain`."""
    program = shutil.which("git")
    if program is None:
        pytest.skip("needs git")
    shop, tree = tmp_path / "shop", tmp_path / "shop-fix"
    (shop / "kds-brain").mkdir(parents=True)
    git = [program, "-C", str(shop), "-c", "user.name=a", "-c", "user.email=a@example.com"]
    for words in (("init", "-q"), ("commit", "-q", "--allow-empty", "-m", "Begin"),
                  ("worktree", "add", "-q", str(tree))):  # fmt: skip
        subprocess.run([*git, *words], check=True, capture_output=True)
    return tree


def test_worktrees_of_a_repository_share_its_workspace_unless_they_have_their_own(
    worktree: Path,
) -> None:
    shop = worktree.with_name("shop")
    (worktree / "src").mkdir()
    for folder in (worktree, worktree / "src"):
        assert find_workspace(str(folder)) == (str(shop), str(shop / "kds-brain"))
        assert Workspace.find(folder).root == shop
    (worktree / "kds-brain").mkdir()
    assert find_workspace(str(worktree / "src")) == (str(worktree), str(worktree / "kds-brain"))


def test_a_project_that_claims_to_be_a_worktree_does_not_get_the_workspace_of_another(
    worktree: Path, tmp_path: Path
) -> None:
    evil = tmp_path / "evil"
    evil.mkdir()
    shutil.copy(worktree / ".git", evil / ".git")
    assert find_workspace(str(evil)) is None
    (evil / ".git").write_text("gitdir: nowhere")
    assert find_workspace(str(evil)) is None
