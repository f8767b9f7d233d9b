"""The documentation tells the truth: its commands and Python run, its outputs are real.

Blocks marked `sh` and `python` run, in the order of their page, in one fresh workspace a page.
A `text` block directly behind one shows what it prints; dates, times, decimals and numbers of
files may differ.
A block whose first line begins with `# not run` says there why it does not.
"""

import os
import re
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
PAGES = sorted([ROOT / "README.md", *(ROOT / "docs").rglob("*.md")])
TIMEOUT_S = 300

_FENCE = re.compile(r"^```(\w*)[^\n]*\n(.*?)^```$", re.MULTILINE | re.DOTALL)
_VARIES = re.compile(r"\d{8}|\d{4}-\d\d-\d\dT[\d:.]+Z|\d+\.\d+|[\d,]+ characters|\d+ files?")


@dataclass(frozen=True)
class Block:
    """A fenced block, and the output that the page shows for it."""

    language: str
    code: str
    line: int
    output: str | None = None


def _blocks(page: Path) -> list[Block]:
    text = page.read_text(encoding="utf-8")
    fences = list(_FENCE.finditer(text))
    blocks = []
    for index, fence in enumerate(fences):
        language, code = fence.groups()
        if language not in ("sh", "python") or code.startswith("# not run"):
            continue
        after = fences[index + 1] if index + 1 < len(fences) else None
        shown = (
            after[2]
            if after and after[1] == "text" and not text[fence.end() : after.start()].strip()
            else None
        )
        blocks.append(Block(language, code, text[: fence.start()].count("\n") + 2, shown))
    return blocks


def _run(block: Block, folder: Path, launchers: Path) -> str:
    command = (
        ["bash", "-euo", "pipefail", "-c", block.code]
        if block.language == "sh"
        else [str(launchers / "python-block"), block.code]
    )
    scripts = [str(launchers), str(Path(sys.executable).parent), os.environ["PATH"]]
    kept = {name: value for name, value in os.environ.items() if not name.startswith("KDS_")}
    home = folder.parent / "home"
    home.mkdir(exist_ok=True)
    own = {"PATH": os.pathsep.join(scripts), "HOME": str(home), "USERPROFILE": str(home)}
    environ = kept | own | {"KDS_SERVICE_AUTO": "0"}
    done = subprocess.run(
        command, cwd=folder, env=environ, capture_output=True, text=True, timeout=TIMEOUT_S
    )
    assert done.returncode == 0, f"line {block.line}:\n{block.code}\n{done.stdout}{done.stderr}"
    return done.stdout


def _masked(text: str) -> str:
    lines = (_VARIES.sub("N", line).rstrip() for line in text.strip().splitlines())
    return "\n".join(lines)


RUNNING = [page for page in PAGES if _blocks(page)]


@pytest.mark.parametrize("page", RUNNING, ids=lambda page: str(page.relative_to(ROOT)))
def test_every_block_runs_and_prints_as_shown(page: Path, workspace: Path, launchers: Path) -> None:
    for block in _blocks(page):
        printed = _run(block, workspace, launchers)
        if block.output is not None:
            assert _masked(printed) == _masked(block.output), f"line {block.line}"


def test_the_command_reference_is_current() -> None:
    command = [sys.executable, ROOT / "tools" / "cli_reference.py"]
    printed = subprocess.run(command, capture_output=True, text=True, check=True, timeout=TIMEOUT_S)
    assert (ROOT / "docs" / "cli.md").read_text(encoding="utf-8") == printed.stdout, (
        "run `make docs`"
    )


def test_links_inside_the_repository_lead_somewhere_and_ci_runs_what_the_readme_shows() -> None:
    for name in ("README.md", "CONTRIBUTING.md", "CHANGELOG.md"):
        text = (ROOT / name).read_text(encoding="utf-8")
        targets = re.findall(r"\]\((?!\w+:|#)([^)#]+)[^)]*\)", text)
        assert [target for target in targets if not (ROOT / target).exists()] == []
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    for name in ("first command", "test command"):
        assert readme.count(f"<!-- {name} -->\n```sh\n") == 1
        assert f'block "{name}"' in (ROOT / ".ci" / "run").read_text(encoding="utf-8")
