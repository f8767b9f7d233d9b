"""How clients are told to call KDS."""

from pathlib import Path

import pytest

from kds.clients.table import Programs, calls_hook, calls_server, find_programs, hook_program


@pytest.fixture(autouse=True)
def _nowhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "")
    monkeypatch.setattr("sys.executable", str(tmp_path / "python"))


def _install(folder: Path) -> Path:
    folder.mkdir(parents=True)
    for name in ("kds", "kds-hook"):
        (folder / name).write_text("#!/bin/sh\n")
        (folder / name).chmod(0o755)
    return folder


def test_names_do_where_they_are_on_the_path_and_a_folder_that_cannot_be_looked_into_is_passed_over(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = _install(tmp_path / "bin")
    monkeypatch.setenv("PATH", str(folder))
    assert find_programs() == Programs("kds-hook", "kds", shared=True)
    too_long = tmp_path / ("x" * 300) / "bin"
    monkeypatch.setenv("PATH", f"{too_long}:{folder}")
    assert find_programs().shared


@pytest.mark.parametrize("mark", ["pyvenv.cfg", "conda-meta"])
def test_an_environment_on_the_path_does_not_count(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, mark: str
) -> None:
    scripts = _install(tmp_path / "my env" / "bin")
    (tmp_path / "my env" / mark).mkdir()
    monkeypatch.setenv("PATH", str(scripts))
    monkeypatch.setattr("sys.executable", str(scripts / "python"))
    assert find_programs() == Programs(f"'{scripts}/kds-hook'", f"{scripts}/kds", shared=False)


@pytest.mark.parametrize(
    ("command", "arguments", "ours"),
    [
        ("kds", ["mcp"], True),
        ("/x/bin/kds", ["mcp", "--workspace", "."], True),
        (r"C:\x\kds.exe", ["mcp"], True),
        ("uvx", ["--from", "/x/clone", "kds", "mcp"], True),
        ("uvx", ["kds", "mcp"], False),
        ("python", ["-m", "kds", "mcp"], True),
        ("kds", ["serve"], False),
        ("kds", None, False),
        ("docker", ["run", "kds", "mcp"], False),
        (None, None, False),
    ],
)
def test_our_server_is_told_from_others(command: object, arguments: object, ours: bool) -> None:
    assert calls_server({"command": command, "args": arguments}) is ours


def test_our_hook_is_told_from_others() -> None:
    ours = ("kds-hook", "kds-hook || true", "'/opt/my env/bin/kds-hook' || true",
            r"C:\tools\kds-hook.exe", '"$CLAUDE_PROJECT_DIR"/.venv/bin/kds-hook')  # fmt: skip
    assert all(map(calls_hook, ours))
    assert not any(map(calls_hook, ("kds-hooks", "my-kds-hook", "kds-hook.sh", "echo hi")))


@pytest.mark.parametrize("path", [".", ""])
def test_a_hook_in_the_current_folder_is_not_ours(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, path: str
) -> None:
    monkeypatch.chdir(_install(tmp_path / "project"))
    monkeypatch.setenv("PATH", path)
    assert hook_program("kds-hook || true") is None
