"""A project with skills, and a user without any."""

from collections.abc import Callable
from pathlib import Path

import pytest

Write = Callable[..., Path]


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    return tmp_path / "home"


@pytest.fixture
def project(tmp_path: Path) -> Path:
    (tmp_path / "project/kds-brain").mkdir(parents=True, mode=0o700)
    return tmp_path / "project"


@pytest.fixture
def write(project: Path) -> Write:
    """Writes a file below the project: a text, or a description with more keys."""

    def written(path: str, description: str = "", *more: str, text: str = "") -> Path:
        file = project / path
        file.parent.mkdir(parents=True, exist_ok=True)
        head = [f"description: {description}"] if description else []
        file.write_text(text or "\n".join(["---", *head, *more, "---", "Do it.\n"]), "utf-8")
        return file

    return written
