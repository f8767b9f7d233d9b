"""The pictures of the documentation show what the commands print, and are small."""

import re
import runpy
import shlex
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from kds.web.site import PAGES

ROOT = Path(__file__).resolve().parents[2]
SOURCE = runpy.run_path(str(ROOT / "tools" / "pictures.py"))
DRAWN = sorted((ROOT / "docs" / "pictures").glob("*.svg"))
TAKEN = sorted((ROOT / "docs" / "pictures" / "web").iterdir())
LARGEST = 60_000


@pytest.mark.parametrize("name", SOURCE["SCENES"])
def test_a_picture_of_a_terminal_says_what_its_commands_print(
    name: str, fitted_workspace: Path, kds_call: Callable[..., Any]
) -> None:
    for file, source in SOURCE["FILES"].items():
        (fitted_workspace / file).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(source, fitted_workspace / file)
    printed = [(line, kds_call(*shlex.split(line)[1:]).out) for line in SOURCE["SCENES"][name]]
    picture = (ROOT / "docs" / "pictures" / f"{name}.svg").read_text(encoding="utf-8")
    assert SOURCE["said"](picture) == SOURCE["shown"](printed), "run `make pictures`"


def test_a_picture_is_small_and_fetches_nothing() -> None:
    for path in DRAWN:
        text = path.read_text(encoding="utf-8")
        assert len(text) < LARGEST
        assert re.findall(r"(?:href|src)=\"(?!#|data:)|url\((?!#)|@import|<script", text) == []


def test_every_page_of_the_web_has_a_small_picture_in_either_light_and_no_other_has_one() -> None:
    pages = [page.path.strip("/") for page in PAGES]
    assert {path.name for path in TAKEN} == {
        f"{page}-{scheme}.png" for page in pages for scheme in ("light", "dark")
    }, "run `make screenshots`"
    shown = (ROOT / "docs" / "web.md").read_text(encoding="utf-8")
    wanted = runpy.run_path(str(ROOT / "tools" / "screenshots.py"))["SIZE"]
    for path in TAKEN:
        assert f"](pictures/web/{path.name})" in shown
        content = path.read_bytes()
        assert len(content) < LARGEST
        assert content.startswith(b"\x89PNG\r\n\x1a\n")
        size = (int.from_bytes(content[16:20]), int.from_bytes(content[20:24]))
        assert size == (wanted["width"], wanted["height"])
