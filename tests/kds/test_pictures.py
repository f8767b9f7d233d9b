"""The pictures of the documentation show what the commands print, and are small."""

import re
import shlex
import shutil
from html import unescape
from pathlib import Path

import pytest

from kds.web.site import PAGES

from .conftest import Run

ROOT = Path(__file__).resolve().parents[2]
TESTS = ROOT / "tests"
DRAWN = sorted((ROOT / "docs" / "pictures").glob("*.svg"))
TAKEN = sorted((ROOT / "docs" / "pictures" / "web").iterdir())
LARGEST = 60_000
SHOWN = re.compile(r"<text class=\"[^\"]*-r\d+\"[^>]*>([^<]*)</text>")
VARIES = re.compile(r"\d{8}|\d+\.\d+|[\d,]+ characters|\d+ s old")
"""Dates, figures and ages: what differs from day to day and from machine to machine."""


def bare(text: str) -> str:
    return re.sub(r"\s+", "", VARIES.sub("N", text.replace("\xa0", " ")))


@pytest.mark.parametrize("path", DRAWN, ids=lambda path: path.stem)
def test_a_picture_of_a_terminal_says_what_its_commands_print(
    path: Path, fitted_workspace: Path, kds_call: Run
) -> None:
    files = {"conversations.yaml": TESTS / "dialogues" / "issue_examples.yaml"}
    for skill in (TESTS / "kds" / "activation" / "skills").glob("*/SKILL.md"):
        files[f".claude/skills/{skill.parent.name}/SKILL.md"] = skill
    for name, source in files.items():
        (fitted_workspace / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(source, fitted_workspace / name)
    said = [unescape(text).replace("\xa0", " ") for text in SHOWN.findall(path.read_text())]
    commands = [text for text in said if text.startswith("$ kds ")]
    printed = [f"{text}\n{kds_call(*shlex.split(text)[2:]).out}" for text in commands]
    assert commands
    assert bare("".join(said)) == bare("".join(printed)), "edit the text of the picture"


def test_a_picture_is_small_and_fetches_nothing() -> None:
    for path in DRAWN:
        text = path.read_text(encoding="utf-8")
        assert len(text) < LARGEST
        assert re.findall(r"(?:href|src)=\"(?!#|data:)|url\((?!#)|@import|<script", text) == []


def test_every_page_of_the_web_has_a_small_picture_in_either_light_and_no_other_has_one() -> None:
    pages = [page.path.strip("/") for page in PAGES]
    wanted = {f"{page}-{scheme}.png" for page in pages for scheme in ("light", "dark")}
    assert {path.name for path in TAKEN} == wanted
    shown = (ROOT / "docs" / "web.md").read_text(encoding="utf-8")
    for path in TAKEN:
        assert f"](pictures/web/{path.name})" in shown
        assert path.stat().st_size < LARGEST
