"""Modules are subjects: no slices, no giants, no crowded folders, no two of one name."""

import ast
from collections import Counter, defaultdict
from functools import cache
from pathlib import Path
from typing import Final

import pytest

ROOT: Final = Path(__file__).resolve().parent.parent
HOUSES: Final = {
    "brain": "kds.brain",
    "router": "kds.router",
    "agents": "kds.agents",
    "src/kds": "kds",
}
"""Folders of the repository, and their packages. Links in `src/kds` are skipped."""

SURFACES: Final = ("commands", "routes")
"""Folders with a module for each subject, named for it; `app` and `main` import each one once."""

TWICE: Final = frozenset(
    "chunking question recall store values"  # of passages and of documents
    " rendering"  # of prompts and of references
    " reading session".split()
)
"""Names that two folders of a package have; the list may only shrink."""

MANY: Final = 15
"""Most modules in one folder."""
LONG: Final = 700
"""Most lines in one module."""
SLICE: Final = 80
"""Lines below which a module with a single importer, in its own folder, is a part of that."""

SLICED: Final[dict[str, int]] = {
    "brain/documents": 1,
    "router": 1,
}
"""Slices that folders still have; a number may only shrink."""


@cache
def modules() -> dict[str, Path]:
    """Every module by its full name, packages among them."""
    found = {}
    for house, package in HOUSES.items():
        for path in (ROOT / house).rglob("*.py"):
            inside = path.relative_to(ROOT / house)
            if not (ROOT / house / inside.parts[0]).is_symlink():
                name = ".".join((package, *inside.with_suffix("").parts))
                found[name.removesuffix(".__init__")] = path
    return found


@cache
def importers() -> dict[str, set[str]]:
    """The modules that import each module, at their top or later."""
    found: dict[str, set[str]] = defaultdict(set)
    for name, path in modules().items():
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            targets = []
            if isinstance(node, ast.Import):
                targets = [alias.name for alias in node.names]
            elif isinstance(node, ast.ImportFrom) and node.module:
                targets = [node.module, *(f"{node.module}.{alias.name}" for alias in node.names)]
            for target in targets:
                found[target].add(name)
    return found


def folder_of(path: Path) -> str:
    return path.parent.relative_to(ROOT).as_posix()


def plain_modules() -> dict[str, Path]:
    return {name: path for name, path in modules().items() if path.name != "__init__.py"}


def lines_of(path: Path) -> int:
    return len(path.read_text(encoding="utf-8").splitlines())


@pytest.mark.parametrize("house", HOUSES)
def test_no_two_modules_of_a_package_have_one_name(house: str) -> None:
    """Except commands, routes and pages (each subject has one of each), and those in `TWICE`."""
    paths = (path for path in plain_modules().values() if path.is_relative_to(ROOT / house))
    names = Counter(path.name for path in paths if path.parent.name not in SURFACES)
    assert names
    doubled = {name.removesuffix(".py") for name, count in names.items() if count > 1}
    assert doubled - TWICE == set()


def test_no_folder_is_crowded_and_no_module_too_long() -> None:
    counts = Counter(map(folder_of, plain_modules().values()))
    assert {name: n for name, n in counts.items() if n > MANY} == {}
    assert {name for name, path in plain_modules().items() if lines_of(path) > LONG} == set()


def test_no_module_is_a_slice_of_its_only_importer() -> None:
    slices = defaultdict(list)
    for name, path in plain_modules().items():
        users = importers()[name] & modules().keys()
        beside = [user for user in users if modules()[user].parent == path.parent]
        if len(users) == 1 and beside and lines_of(path) < SLICE:
            slices[folder_of(path)].append(f"{name}: only {beside[0]} imports it")
    over = {room: names for room, names in slices.items() if len(names) > SLICED.get(room, 0)}
    assert over == {}
