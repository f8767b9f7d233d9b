"""A project with git, the programs of KDS on the PATH, and a home of its own."""

import json
import shutil
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from kds.clients.settings.jsontext import parse_json_text

PROGRAM = """#!{python}
from kds.{module} import main
raise SystemExit(main())
"""


def set_up(kds_call: Callable[..., Any], *arguments: str) -> dict[str, Any]:
    """Run `kds init` and return its report."""
    done = kds_call("init", *arguments, "--json")
    assert done.code == 0, done.err
    found = json.loads(done.out)
    assert isinstance(found, dict)
    return found


def read(path: str) -> Any:
    """What a settings file of a client says."""
    return parse_json_text(Path(path).read_text()).value()


@dataclass(frozen=True)
class Snapshot:
    """Every file below a folder with its content, and every folder."""

    files: dict[str, bytes]
    folders: frozenset[str]

    @classmethod
    def of(cls, folder: Path, *, without: str = "kds-brain") -> "Snapshot":
        paths = [path for path in folder.rglob("*") if path.relative_to(folder).parts[0] != without]
        names = {path: path.relative_to(folder).as_posix() for path in paths}
        return cls(
            {names[path]: path.read_bytes() for path in paths if path.is_file()},
            frozenset(names[path] for path in paths if path.is_dir()),
        )


@pytest.fixture
def programs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder on the PATH with kds and kds-hook: an installation outside of an environment."""
    folder = tmp_path / "programs"
    folder.mkdir()
    for name, module in (("kds", "cli"), ("kds-hook", "hooks.client")):
        path = folder / name
        path.write_text(PROGRAM.format(python=sys.executable, module=module))
        path.chmod(0o755)
    (folder / "sh").symlink_to(shutil.which("sh") or "/bin/sh")
    monkeypatch.setenv("PATH", str(folder))
    return folder


@pytest.fixture
def project(workspace: Path, programs: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A project folder without any file of a client."""
    monkeypatch.delenv("CLAUDE_CONFIG_DIR", raising=False)
    (workspace / "kds-brain").chmod(0o700)
    return workspace


@pytest.fixture
def write(project: Path) -> Callable[[str, str], Path]:
    """Write a file of the project: ``write(".mcp.json", "{}")``."""

    def written(name: str, text: str) -> Path:
        path = project / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(text.encode())
        return path

    return written
