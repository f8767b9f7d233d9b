"""KDS is installed from where it came, and never from another author's package."""

import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
OTHERS = (
    r"((pip3?|pipx|uv pip|uv tool) (install|inject|upgrade|run)|uvx|uv add)"
    r"( +-[\w-]+)*"  # -U, --upgrade
    r" +['\"]?kds(?![\w-])"
    r"|\bkds\[[a-z,]+\]"
)
"""Lines that install the package called `kds`, which is another author's."""


@pytest.mark.skipif(not (ROOT / ".git").exists(), reason="looks at what is under version control")
def test_no_line_of_the_tree_installs_the_other_package() -> None:
    here = f":!{Path(__file__).relative_to(ROOT)}"
    command = ["git", "grep", "-nIP", "--untracked", OTHERS, "--", ".", here]
    found = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert (found.returncode, found.stdout) == (1, "")
