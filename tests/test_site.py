"""The documentation as a site: whole, in order, and without anything from elsewhere."""

import re
import shutil
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parent.parent
DOCS = ROOT / "docs"
PAGES = sorted(DOCS.rglob("*.md"))
CONFIGURATION = ROOT / "zensical.toml"
BUILD_S = 300

_LINK = re.compile(r"\]\((?!\w+:)([^)#\s]*)(?:#([^)]+))?\)")
_CODE = re.compile(r"^```.*?^```$|`[^`\n]+`", re.MULTILINE | re.DOTALL)
_FETCHED = re.compile(
    r"<(?:script|link|img|iframe)\b[^>]*(?:src|href)=\"?((?:https?:)?//[^\">\s]+)"
)


def _links(page: Path) -> list[tuple[str, str]]:
    return _LINK.findall(_CODE.sub("", page.read_text(encoding="utf-8")))


def _anchors(page: Path) -> set[str]:
    text = re.sub(r"^```.*?^```$", "", page.read_text(encoding="utf-8"), flags=re.M | re.S)
    headings = re.findall(r"^#+ (.+)$", text, re.MULTILINE)
    return {re.sub(r"[^\w\s-]", "", one).strip().lower().replace(" ", "-") for one in headings}


def _leaves(entries: list[Any]) -> Iterator[str]:
    for entry in entries:
        for value in entry.values() if isinstance(entry, dict) else [entry]:
            yield from _leaves(value) if isinstance(value, list) else [value]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(DOCS)))
def test_a_page_links_to_sections_that_exist_and_to_nothing_outside_of_the_site(page: Path) -> None:
    for target, anchor in _links(page):
        path = (page.parent / target).resolve() if target else page
        assert path.is_relative_to(DOCS), target
        assert path.is_file(), target
        assert not anchor or anchor in _anchors(path), f"{target}#{anchor}"


def test_the_navigation_is_the_list_of_pages_and_has_each_of_them_once_by_its_title() -> None:
    project = tomllib.loads(CONFIGURATION.read_text(encoding="utf-8"))["project"]
    text = (DOCS / "index.md").read_text(encoding="utf-8")
    listed = re.findall(r"^- \[[^\]]+\]\(([^)]+)\): ", text, re.MULTILINE)
    assert list(_leaves(project["nav"])) == ["index.md", *listed]
    assert sorted(["index.md", *listed]) == [page.relative_to(DOCS).as_posix() for page in PAGES]
    groups = [next(iter(entry)) for entry in project["nav"][1:]]
    assert groups == re.findall(r"^## (.+)$", text, re.MULTILINE)
    for page in sorted((DOCS / "decisions").iterdir()):
        number, title = page.read_text(encoding="utf-8").splitlines()[0].split(": ", 1)
        assert f"- [{number.removeprefix('# ')}](decisions/{page.name}): {title}\n" in text


@pytest.mark.skipif(
    not find_spec("zensical"), reason="needs the extra `site`: pip install '.[site]'"
)
def test_the_site_builds_without_a_warning_and_fetches_nothing(tmp_path: Path) -> None:
    shutil.copytree(DOCS, tmp_path / "docs")
    shutil.copytree(ROOT / "tools" / "site", tmp_path / "tools" / "site")
    shutil.copy(CONFIGURATION, tmp_path)
    done = subprocess.run(
        [sys.executable, "-m", "zensical", "build", "--strict"],
        cwd=tmp_path, capture_output=True, text=True, timeout=BUILD_S, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
    built = sorted((tmp_path / "site").rglob("*.html"))
    assert len(built) == len(PAGES) + 1  # 404.html
    for page in built:
        text = page.read_text(encoding="utf-8")
        assert _FETCHED.findall(text) == []
        assert "Content-Security-Policy" in text
    assert (tmp_path / "site" / "search.json").stat().st_size > 0
