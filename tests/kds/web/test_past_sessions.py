"""The page's search also finds what was said in sessions of assistants."""

import shutil
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from kds.transcripts.catalogue import AssistantMemory
from kds.transcripts.importing import import_sessions, readers

from .conftest import Site, Visitor
from .test_every_page import found_by_axe

RECORDED = Path(__file__).parent.parent / "transcripts" / "recorded"
ASKED = "/memory?q=which+port+has+staging%3F"
HEADING = "From sessions of your assistants"


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A home in which nothing was imported."""
    monkeypatch.setenv("HOME", str(tmp_path))
    return tmp_path


@pytest.fixture
def imported(site: Site, home: Path) -> Path:
    """The folder of imported sessions about the site's workspace."""
    return bring_in(home, site.root)


def bring_in(home: Path, root: Path) -> Path:
    """Import recorded sessions as if they were about ``root``; returns where they are kept."""
    for client in ("claude", "codex"):
        shutil.copytree(RECORDED / client, home / f".{client}")
    for path in home.rglob("*.jsonl"):
        path.write_text(path.read_text().replace("/home/me/shop", str(root)))
    with closing(AssistantMemory()) as memory:
        import_sessions(memory, readers(home, {}), only=None)
        return memory.folder


def test_a_search_shows_past_sessions_with_the_words_found_and_the_command_that_resumes_one(
    site: Site, imported: Path, new_page: Callable[..., Any]
) -> None:
    page = new_page(at=ASKED)
    assert HEADING in page.content()
    section = page.get_by_role("region", name=HEADING)
    hits = section.get_by_role("article").filter(has_text="claude --resume")
    text = hits.first.inner_text()
    assert f"cd {site.root} && claude --resume 65b58793" in text
    assert {"claude", "main"} <= set(text.split())
    assert hits.first.locator("time").get_attribute("datetime").startswith("2026-11-24T16:21")
    marks = {one.lower() for one in section.locator("mark").all_inner_texts()}
    assert marks == {"port", "staging"}
    assert "codex resume 01a20e5c" in section.inner_text()
    assert found_by_axe(page) == []
    page.set_viewport_size({"width": 360, "height": 640})
    assert page.evaluate("document.documentElement.scrollWidth") <= 360


def test_without_an_import_a_search_says_nothing_of_assistants(
    home: Path, visitor: Visitor
) -> None:
    assert HEADING not in visitor.get(ASKED).text
    assert not (home / ".config").exists()


def test_a_team_is_shown_nobodys_sessions(
    url: str, home: Path, fitted_brain: Path, tmp_path_factory: pytest.TempPathFactory,
    monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    monkeypatch.setenv("KDS_DATABASE", url)
    folder, runtime = home / "shop", tmp_path_factory.mktemp("runtime") / "kds"
    shutil.copytree(fitted_brain, folder / "kds-brain")
    bring_in(home, folder)
    site = Site(folder, runtime).start()
    try:
        with site.visitor() as visitor:
            answer = visitor.get(ASKED)
    finally:
        site.stop()
    assert 'id="found"' in answer.text
    assert HEADING not in answer.text
