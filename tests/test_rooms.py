"""Module names are unique within a package, and no folder is crowded."""

from collections import Counter
from pathlib import Path
from typing import Final

import pytest

ROOT = Path(__file__).resolve().parent.parent
HOUSES = ("brain", "router", "agents", "src/kds")

SURFACES: Final = ("commands", "routes")

MANY: Final = 25
"""Most modules in one folder."""


def _modules(house: str) -> list[Path]:
    return [path for path in (ROOT / house).rglob("*.py") if path.name != "__init__.py"]


@pytest.mark.parametrize("house", HOUSES)
def test_no_two_modules_of_a_package_have_one_name(house: str) -> None:
    """But commands, routes and pages: each subject has one of each."""
    names = Counter(path.name for path in _modules(house) if path.parent.name not in SURFACES)
    assert [name for name, count in names.items() if count > 1] == []


@pytest.mark.parametrize("house", HOUSES)
def test_no_folder_is_crowded(house: str) -> None:
    rooms = Counter(path.parent for path in _modules(house))
    assert rooms
    assert [room for room, count in rooms.items() if count > MANY] == []
