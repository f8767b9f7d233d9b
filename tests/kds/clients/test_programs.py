"""How clients are told to call KDS."""

from pathlib import Path

import pytest

from kds.clients.table import calls_hook, calls_server, hook_program


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


def test_our_server_and_our_hook_are_told_from_others() -> None:
    def server(line: str) -> bool:
        command, *words = line.split()
        return calls_server({"command": command, "args": words})

    lines = ("kds mcp", "/x/bin/kds mcp --workspace .", r"C:\x\kds.exe mcp", "python -m kds mcp",
             "uvx --from /x/clone kds mcp")  # fmt: skip
    assert all(map(server, lines))
    assert not any(map(server, ("kds serve", "kds", "docker run kds mcp")))
    assert not calls_server({"command": "uvx", "args": ["kds", "mcp"]})  # that is another's
    assert not calls_server({"command": None, "args": None})
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
