"""A project with git, the programs of KDS on the PATH, and a home of its own."""

import json
import shutil
import sys
import tomllib
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from kds.clients.json_edit import parse_json_text

from ..conftest import Result, data

PROGRAM = """#!{python}
from kds.{module} import main
raise SystemExit(main())
"""


def read(path: str) -> Any:
    """What a settings file of a client says."""
    text = Path(path).read_text()
    return tomllib.loads(text) if path.endswith(".toml") else parse_json_text(text).value()


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


class Findings(dict[str, list[dict[str, str]]]):
    """What `kds doctor` found, by its checks."""

    @property
    def problems(self) -> list[str]:
        """What is wrong."""
        return [one["found"] for each in self.values() for one in each if one["mark"] == "problem"]


@dataclass(frozen=True)
class Project:
    """A project folder, in which KDS is set up and called."""

    folder: Path
    kds: Callable[..., Result]

    def try_init(self, *words: str) -> Result:
        """Run `kds init` for these clients, and with these options."""
        named = (word if word.startswith("-") else f"--client={word}" for word in words)
        return self.kds("init", *named)

    def init(self, *words: str) -> dict[str, Any]:
        """The same, which goes well; its report."""
        found = data(self.try_init(*words, "--json"))
        assert isinstance(found, dict)
        return found

    def doctor(self, *options: str) -> Findings:
        """Run `kds doctor`, which fails where there is a problem, and says how to solve each."""
        done = self.kds("doctor", "--json", *options)
        report = json.loads(done.out)
        checks = Findings()
        for finding in report["findings"]:
            checks.setdefault(finding["check"], []).append(finding)
            assert finding["mark"] != "problem" or finding["fix"], finding
        assert (done.code, report["well"]) == (bool(checks.problems), not checks.problems)
        return checks

    def write(self, name: str, text: str) -> Path:
        """Write a file of the project."""
        path = self.folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(text.encode())
        return path


@pytest.fixture
def project(
    workspace: Path, programs: Path, kds_call: Callable[..., Result], tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> Project:  # fmt: skip
    """A project folder without any file of a client; it is the current one."""
    monkeypatch.delenv("CLAUDE_CONFIG_DIR", raising=False)
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    (workspace / "kds-brain").chmod(0o700)
    return Project(workspace, kds_call)
