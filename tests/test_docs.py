"""The documentation tells the truth: its commands and Python run, its outputs are real.

Blocks marked `sh` and `python` run, in the order of their page, in one fresh workspace a page.
A `text` block directly behind one shows what it prints; dates, times and decimals may differ.
A block whose first line begins with `# not run` says there why it does not.
"""

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

import pytest

from kds.cli.reference import reference

ROOT = Path(__file__).resolve().parent.parent
PAGES = sorted([ROOT / "README.md", *(ROOT / "docs").rglob("*.md")])
TIMEOUT_S = 300

Played = Mapping[Path, "Future[None]"]

_FENCE = re.compile(r"^```(\w*)[^\n]*\n(.*?)^```$", re.MULTILINE | re.DOTALL)
_VARIES = re.compile(r"\d{8}|\d{4}-\d\d-\d\dT[\d:.]+Z|\d+\.\d+|[\d,]+ characters")


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


def _run(block: Block, folder: Path, home: Path) -> str:
    command = (
        ["bash", "-euo", "pipefail", "-c", block.code]
        if block.language == "sh"
        else [sys.executable, "-c", block.code]
    )
    scripts = str(Path(sys.executable).parent)
    kept = {name: value for name, value in os.environ.items() if not name.startswith("KDS_")}
    environ = kept | {
        "PATH": f"{scripts}{os.pathsep}{os.environ['PATH']}",
        "HOME": str(home),
        "USERPROFILE": str(home),
    }
    done = subprocess.run(
        command, cwd=folder, env=environ, capture_output=True, text=True, timeout=TIMEOUT_S
    )
    assert done.returncode == 0, f"line {block.line}:\n{block.code}\n{done.stdout}{done.stderr}"
    return done.stdout


def _masked(text: str) -> str:
    lines = (_VARIES.sub("N", line).rstrip() for line in text.strip().splitlines())
    return "\n".join(lines)


def _play(page: Path, folder: Path, home: Path) -> None:
    for block in _blocks(page):
        printed = _run(block, folder, home)
        if block.output is not None:
            assert _masked(printed) == _masked(block.output), f"line {block.line}"


RUNNING = [page for page in PAGES if _blocks(page)]


@pytest.fixture(scope="session")
def played(fitted_brain: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Played]:
    """Every page at work, two at a time: they are processes that wait for each other's output."""
    with ThreadPoolExecutor(2) as pool:
        futures = {}
        for page in RUNNING:
            folder = tmp_path_factory.mktemp("page") / "workspace"
            home = folder.parent / "home"
            home.mkdir()
            shutil.copytree(fitted_brain, folder / "kds-brain")
            futures[page] = pool.submit(_play, page, folder, home)
        yield futures
        pool.shutdown(cancel_futures=True)


@pytest.mark.parametrize("page", RUNNING, ids=lambda page: str(page.relative_to(ROOT)))
def test_every_block_of_the_page_runs_and_prints_what_it_shows(page: Path, played: Played) -> None:
    played[page].result()


def test_the_command_reference_is_current() -> None:
    assert (ROOT / "docs" / "cli.md").read_text(encoding="utf-8") == reference(), "run `make docs`"


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_links_inside_the_repository_lead_somewhere(page: Path) -> None:
    targets = re.findall(r"\]\((?!\w+:|#)([^)#]+)[^)]*\)", page.read_text(encoding="utf-8"))
    assert [target for target in targets if not (page.parent / target).exists()] == []


def test_ci_runs_the_test_command_of_the_readme() -> None:
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    assert readme.count("<!-- test command -->") == 1
    assert "<!-- test command -->" in (ROOT / ".ci" / "run").read_text(encoding="utf-8")
