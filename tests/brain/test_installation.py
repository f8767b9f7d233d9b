"""How KDS is installed again: from where it came, and never from another author's package."""

import re
import subprocess
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent.parent
OTHERS = re.compile(
    r"(?:(?:pip3?|pipx|uv pip|uv tool) (?:install|inject|upgrade|run)|uvx|uv add)"
    r"(?: +-[\w-]+)*"  # -U, --upgrade
    r" +['\"]?kds(?![\w-])"
    r"|\bkds\[[a-z,]+\]"
)
"""Lines that install the package called `kds`, which is another author's."""


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
