"""The front door of the package: lazy names, a cheap import, nothing heavy."""

import ast
import subprocess
import sys
from pathlib import Path

import pytest

import kds

HEAVY = ("spacy", "sklearn", "langchain_core", "detect_secrets", "numpy", "jinja2", "pydantic")
BUDGET_S = 0.150
"""CPU seconds of `import kds` (issue 2)."""


def _run(code: str) -> str:
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=60
    )
    return done.stdout.strip()


@pytest.mark.parametrize("name", sorted(kds._HOME_OF))
def test_every_public_name_can_be_imported(name: str) -> None:
    assert getattr(kds, name) is not None
    assert name in dir(kds)


def test_the_names_for_type_checkers_are_the_lazy_ones() -> None:
    tree = ast.parse(Path(kds.__file__).read_text())
    guarded = next(node for node in tree.body if isinstance(node, ast.If))
    declared = {
        (alias.asname, node.module)
        for node in guarded.body
        if isinstance(node, ast.ImportFrom)
        for alias in node.names
    }
    assert declared == set(kds._HOME_OF.items())


def test_an_unknown_name_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="no attribute 'Ruoter'"):
        kds.Ruoter  # type: ignore[attr-defined]  # noqa: B018  # the very thing under test


def test_the_version_is_that_of_the_distribution() -> None:
    assert kds.__version__ == "0.1.0"


def test_import_kds_is_cheap() -> None:
    """The least of three: CPU time, yet a busy machine still disturbs caches."""
    code = "import time; t = time.process_time(); import kds; print(time.process_time() - t)"
    assert min(float(_run(code)) for _ in range(3)) < BUDGET_S


@pytest.mark.parametrize("module", ["kds", "kds.pytest_plugin", "kds.cli"])
def test_the_start_imports_nothing_heavy(module: str) -> None:
    code = f"import {module}, sys; print([m for m in {HEAVY!r} if m in sys.modules])"
    assert _run(code) == "[]"


def test_the_router_module_imports_no_language_or_learning_library() -> None:
    heavy = ("spacy", "sklearn", "langchain_core", "detect_secrets")
    code = f"import kds.routing, sys; print([m for m in {heavy!r} if m in sys.modules])"
    assert _run(code) == "[]"
