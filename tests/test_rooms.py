"""The house stays one to find one's way in: names that stand once, rooms and modules of a size."""

from collections import Counter
from pathlib import Path
from typing import Final

import pytest

ROOT = Path(__file__).resolve().parent.parent
HOUSES = ("brain", "router", "agents", "src/kds")

MANY: Final = 25
"""Modules of a folder; the issue asks for about twenty."""
LONG: Final = 300
"""Lines of a module."""


def _modules(house: str) -> list[Path]:
    return [path for path in (ROOT / house).rglob("*.py") if path.name != "__init__.py"]


@pytest.mark.parametrize("house", HOUSES)
def test_no_two_modules_of_a_package_have_one_name(house: str) -> None:
    names = Counter(path.name for path in _modules(house))
    assert [name for name, count in names.items() if count > 1] == []


@pytest.mark.parametrize("house", HOUSES)
def test_no_folder_holds_more_modules_than_one_takes_in(house: str) -> None:
    rooms = Counter(path.parent for path in _modules(house))
    assert rooms
    assert [room for room, count in rooms.items() if count > MANY] == []


@pytest.mark.parametrize("house", HOUSES)
def test_no_module_is_longer_than_one_reads_at_once(house: str) -> None:
    lengths = {path: len(path.read_text(encoding="utf-8").splitlines()) for path in _modules(house)}
    assert [path for path, count in lengths.items() if count > LONG] == []
