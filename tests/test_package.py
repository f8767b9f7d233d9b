"""The front door of the package: lazy names, a cheap import, nothing heavy."""

import ast
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import kds
import kds.agents

PACKAGES = (kds, kds.agents)
HEAVY = ("spacy", "sklearn", "langchain_core", "numpy", "jinja2", "pydantic", "onnxruntime")


def _run(code: str, exit_code: int = 0) -> str:
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60)
    assert done.returncode == exit_code, done.stderr
    return done.stdout.strip()


@pytest.mark.parametrize("package", PACKAGES)
def test_the_names_for_type_checkers_are_the_lazy_ones_each_can_be_imported(
    package: Any,
) -> None:
    tree = ast.parse(Path(package.__file__).read_text())
    guarded = next(
        node for node in tree.body if isinstance(node, ast.If) and isinstance(node.test, ast.Name)
    )
    declared = {
        (alias.asname, node.module)
        for node in guarded.body
        if isinstance(node, ast.ImportFrom)
        for alias in node.names
    }
    assert declared == set(package._HOME_OF.items())
    for name in package._HOME_OF:
        assert getattr(package, name) is not None
        assert name in dir(package)
    with pytest.raises(AttributeError, match="no attribute 'Ruoter'"):
        _ = package.Ruoter


def test_a_checkout_without_links_says_how_to_get_them(tmp_path: Path) -> None:
    (tmp_path / "kds").mkdir()
    (tmp_path / "kds" / "__init__.py").write_text(Path(kds.__file__).read_text())
    (tmp_path / "kds" / "brain").write_text("../../brain")  # what git writes on Windows
    done = subprocess.run(
        [sys.executable, "-c", "import kds"], cwd=tmp_path, capture_output=True, text=True
    )
    assert done.returncode == 1
    assert "git config core.symlinks true" in done.stderr


def test_import_kds_imports_kds_and_nothing_else() -> None:
    code = "import sys; before = set(sys.modules); import kds; print(set(sys.modules) - before)"
    assert _run(code) == "{'kds'}"


@pytest.mark.parametrize(
    ("statement", "heavy"),
    [
        ("import kds.testing.pytest_plugin", HEAVY),
        ("import kds.cli", HEAVY),
        ("import kds.api.routing", ("spacy", "sklearn", "langchain_core")),
        ("import kds.agents", ("langchain_core",)),
        ("from kds.agents import AgentReply, Agent, load_chat_model", ("langchain_core",)),
    ],
)
def test_an_import_brings_nothing_heavy_along(statement: str, heavy: tuple[str, ...]) -> None:
    code = f"{statement}; import sys; print([m for m in {heavy!r} if m in sys.modules])"
    assert _run(code) == "[]"


@pytest.mark.parametrize("wrong", [("route", ""), ("serve", "--http", "nope"), ("help", "nope")])
def test_a_wrong_usage_is_refused_before_anything_heavy_is_loaded(wrong: tuple[str, ...]) -> None:
    loaded = f"[name for name in {(*HEAVY, 'fastapi', 'pydantic')!r} if name in sys.modules]"
    code = (
        f"import atexit, sys; atexit.register(lambda: print({loaded})); "
        f"from kds.cli import main; main({wrong!r})"
    )
    assert _run(code, 2) == "[]"
