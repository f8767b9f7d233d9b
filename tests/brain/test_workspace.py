import os
import stat
import subprocess
from pathlib import Path

import pytest

from kds.brain.errors import WorkspaceError
from kds.brain.workspace import Workspace


def mode_of(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


def test_the_variable_names_the_folder_that_holds_the_brain(tmp_path: Path) -> None:
    found = Workspace.find(tmp_path / "elsewhere", environ={"KDS_HOME": str(tmp_path)})
    assert found == Workspace(tmp_path, tmp_path / "kds-brain")


def test_the_nearest_parent_with_a_brain_wins(tmp_path: Path) -> None:
    (tmp_path / "kds-brain").mkdir()
    inner = tmp_path / "project" / "src" / "deep"
    inner.mkdir(parents=True)
    assert Workspace.find(inner, environ={}).root == tmp_path
    (tmp_path / "project" / "KDS" / "kds-brain").mkdir(parents=True)
    assert Workspace.find(inner, environ={}).root == tmp_path / "project" / "KDS"
    (tmp_path / "project" / "kds-brain").mkdir()
    assert Workspace.find(inner, environ={}).root == tmp_path / "project"


def test_without_any_the_start_is_the_workspace_and_nothing_is_made(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert Workspace.find(environ={}).root == tmp_path
    assert list(tmp_path.iterdir()) == []


def test_a_current_folder_that_is_gone_is_a_clear_error(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    gone = tmp_path / "gone"
    gone.mkdir()
    monkeypatch.chdir(gone)
    gone.rmdir()
    with pytest.raises(WorkspaceError, match="KDS_HOME"):
        Workspace.find(environ={})


@pytest.mark.parametrize("umask", [0, 0o777])
def test_the_folder_is_made_for_its_owner_alone_under_any_umask(tmp_path: Path, umask: int) -> None:
    found = Workspace.find(tmp_path, environ={})
    before = os.umask(umask)
    try:
        found.ensure()
        found.ensure()
    finally:
        os.umask(before)
    assert mode_of(found.brain) == 0o700


def test_a_file_in_the_place_of_the_folder_is_a_clear_error(tmp_path: Path) -> None:
    (tmp_path / "kds-brain").touch()
    with pytest.raises(WorkspaceError, match="not a folder") as caught:
        Workspace.find(tmp_path, environ={}).ensure()
    assert caught.value.where == str(tmp_path / "kds-brain")
    assert "KDS_HOME" in (caught.value.hint or "")


def test_no_permission_to_make_the_folder_is_a_clear_error(users_folder: Path) -> None:
    found = Workspace.find(users_folder, environ={})
    found.check()
    users_folder.chmod(0o500)
    with pytest.raises(WorkspaceError, match="Permission denied"):
        found.ensure()
    with pytest.raises(WorkspaceError, match="Permission denied"):
        found.check()


def test_a_read_only_folder_is_a_clear_error(users_folder: Path) -> None:
    found = Workspace.find(users_folder, environ={})
    found.brain.mkdir(mode=0o500)
    with pytest.raises(WorkspaceError, match="may not be written") as caught:
        found.ensure()
    assert "chmod" in (caught.value.hint or "")


def test_git_leaves_a_new_workspace_alone_but_for_what_a_team_shares(tmp_path: Path) -> None:
    subprocess.run(["git", "init", "-q", str(tmp_path)], check=True)
    place = Workspace(tmp_path, tmp_path / "kds-brain")
    place.ensure()
    for name in ("conversation-context.jsonl", "service.token", "cache/model.npz", "init/a.before",
                 "rules/team.yaml", "settings.yaml", "README.md"):  # fmt: skip
        path = place.brain / name
        path.parent.mkdir(exist_ok=True)
        path.touch()
    subprocess.run(["git", "-C", str(tmp_path), "add", "-A"], check=True)
    listed = subprocess.run(
        ["git", "-C", str(tmp_path), "ls-files"], check=True, capture_output=True, text=True
    ).stdout.split()
    assert listed == [
        "kds-brain/.gitignore", "kds-brain/README.md", "kds-brain/rules/team.yaml",
        "kds-brain/settings.yaml",
    ]  # fmt: skip


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() != 0, reason="needs to be root")
def test_a_workspace_that_somebody_else_put_above_is_passed_over(tmp_path: Path) -> None:
    work = tmp_path / "shared" / "mine"
    work.mkdir(parents=True)
    foreign = tmp_path / "shared" / "kds-brain"
    foreign.mkdir()
    os.chown(foreign, 65534, 65534)
    assert Workspace.find(work, environ={}).brain != foreign
    os.chown(work, 65534, 65534)  # in their project, theirs is the one that is meant
    assert Workspace.find(work, environ={}).brain == foreign
