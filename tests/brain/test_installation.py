"""How KDS is installed again: from where it came, and never from another author's package."""

import json
import re
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from kds.brain.errors import KdsError
from kds.brain.installation import (
    DISTRIBUTION,
    install_line,
    kds_version,
    load_extra,
)

ROOT = Path(__file__).resolve().parent.parent.parent
Install = Callable[..., Path]

OTHERS = re.compile(
    r"(?:(?:pip3?|pipx|uv pip|uv tool) (?:install|inject|upgrade|run)|uvx|uv add)"
    r"(?: +-[\w-]+)*"  # -U, --upgrade
    r" +['\"]?kds(?![\w-])"
    r"|\bkds\[[a-z,]+\]"
)
"""Lines that install the package called `kds`, which is another author's."""


UNKNOWN = "pip install '.[docs]', in the clone of KDS"


@pytest.fixture
def install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Install:
    """Install a distribution by its metadata alone, in front of all others."""
    monkeypatch.syspath_prepend(tmp_path)

    def made(**origin: object) -> Path:
        folder = tmp_path / "kds_router-9.dist-info"
        folder.mkdir()
        head = f"Metadata-Version: 2.1\nName: {DISTRIBUTION}\nVersion: 9\n"
        (folder / "METADATA").write_text(head)
        if origin:
            (folder / "direct_url.json").write_text(json.dumps(origin))
        return tmp_path

    return made


def test_a_folder_is_named_editable_or_not_and_quoted(install: Install, tmp_path: Path) -> None:
    clone = tmp_path / "my clone"
    clone.mkdir()
    install(url=clone.as_uri(), dir_info={"editable": True})
    assert install_line("docs") == f"pip install -e '{clone}[docs]'"
    assert install_line(tool="pipx install") == f"pipx install -e '{clone}'"
    assert kds_version.__wrapped__() == "9"  # asked once a process


@pytest.mark.parametrize(
    ("origin", "line"),
    [
        ({"url": "file:///", "dir_info": {}}, "pip install '/[docs]'"),
        ({"url": "https://x.org/k", "vcs_info": {"vcs": "git"}}, UNKNOWN),
        ({"url": "file:///gone/clone", "dir_info": {}}, UNKNOWN),
        ({}, UNKNOWN),
    ],
)
def test_each_origin_has_its_line(install: Install, origin: dict[str, object], line: str) -> None:
    install(**origin)
    assert install_line("docs") == line


def test_a_library_that_is_not_there_is_named_with_its_extra() -> None:
    with pytest.raises(KdsError, match="'kds_nowhere' is needed to draw") as caught:
        load_extra("kds_nowhere.part", extra="eval", purpose="draw")
    assert caught.value.hint == f"{install_line('eval')} (the extra 'eval' of KDS)"


WRITTEN = {".py", ".md", ".toml", ".yaml", ".json", ".sh", ".js", ".cfg"}
"""Where git does not say which files are ours: what people write, and not what tools make."""


def _is_made(path: Path) -> bool:
    return any(part.startswith(".") or part == "build" for part in path.relative_to(ROOT).parts)


def test_no_line_of_the_tree_installs_the_other_package() -> None:
    listed = subprocess.run(
        ["git", "ls-files", "--cached", "--others", "--exclude-standard"],
        cwd=ROOT, capture_output=True, text=True, check=False,
    )  # fmt: skip
    names = listed.stdout.split("\n") if listed.returncode == 0 else []
    paths = [ROOT / name for name in names if name] or [
        path for path in ROOT.rglob("*") if path.suffix in WRITTEN and not _is_made(path)
    ]
    found = []
    for path in paths:
        if path.is_file() and path != Path(__file__).resolve():
            text = path.read_text(encoding="utf-8", errors="ignore")
            found += [f"{path.relative_to(ROOT)}: {hit[0]}" for hit in OTHERS.finditer(text)]
    assert found == []
