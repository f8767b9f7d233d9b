"""The hook finds the workspace that everybody else finds, or none yet."""

import shutil
import subprocess
import tempfile
from contextlib import suppress
from pathlib import Path

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from kds.brain.environment import find_workspace
from kds.brain.errors import WorkspaceError
from kds.brain.workspace import Workspace

_NAMES = st.sampled_from(["a", "b", "KDS", "kds-brain", "kds brain"])
_PATHS = st.lists(_NAMES, max_size=4).map(lambda names: "/".join(names))
_HOMES = st.one_of(
    st.none(),
    st.lists(
        st.sampled_from(["a", "b", "KDS", "kds-brain", ".", "..", "", "~", "~nobody-at-all"]),
        min_size=1,
        max_size=4,
    ).map(lambda names: "/".join(names)),
)


def _by_the_rule(start: Path) -> tuple[str, str] | None:
    try:
        found = Workspace.find(start)
    except WorkspaceError:  # the home of a user who does not exist
        return None
    return (str(found.root), str(found.brain)) if found.brain.is_dir() else None


@given(st.lists(_PATHS, max_size=4), st.lists(_PATHS, max_size=2), _PATHS, _HOMES)
@example(["KDS/kds-brain", "a/kds-brain"], [], "a/b", None)
@example(["kds-brain"], ["a/file"], "a/file", None)
@example(["a/kds-brain"], [], "", "a/./kds-brain/")
@example(["a/kds-brain/b"], [], "", "a//kds-brain/b/..")
@example(["a/kds-brain"], [], "", "~nobody-at-all")
def test_both_find_the_same_workspace(
    folders: list[str], files: list[str], start: str, home: str | None
) -> None:
    with pytest.MonkeyPatch.context() as patch, tempfile.TemporaryDirectory() as name:
        root = Path(name).resolve()
        for folder in folders:
            (root / folder).mkdir(parents=True, exist_ok=True)
        for file in files:
            with suppress(OSError):  # a file stands where the folder would be, or the reverse
                (root / file).parent.mkdir(parents=True, exist_ok=True)
                (root / file).touch()
        patch.chdir(root)
        patch.setenv("HOME", str(root / "a"))
        if home is None:
            patch.delenv("KDS_HOME", raising=False)
        else:
            patch.setenv("KDS_HOME", home)
        assert find_workspace(str(root / start)) == _by_the_rule(root / start)
        assert find_workspace(start or ".") == _by_the_rule(Path(start or "."))


def test_a_link_to_a_folder_leads_to_the_workspace_there(tmp_path: Path) -> None:
    (tmp_path / "project" / "kds-brain").mkdir(parents=True)
    (tmp_path / "project" / "src").mkdir()
    (tmp_path / "link").symlink_to(tmp_path / "project" / "src")
    assert find_workspace(str(tmp_path / "link")) == _by_the_rule(tmp_path / "link")
    assert find_workspace(str(tmp_path / "link")) is not None


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
