"""Every example in a docstring runs."""

import doctest
import importlib
import pkgutil
from importlib.util import find_spec
from pathlib import Path

import pytest

import kds

MODULES = ["kds", *(module.name for module in pkgutil.walk_packages(kds.__path__, prefix="kds."))]


def _has_examples(name: str) -> bool:
    spec = find_spec(name)
    assert spec is not None
    return spec.origin is not None and b">>> " in Path(spec.origin).read_bytes()


@pytest.mark.parametrize("name", [name for name in MODULES if _has_examples(name)])
def test_the_examples_in_docstrings_run(name: str) -> None:
    result = doctest.testmod(
        importlib.import_module(name), optionflags=doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE
    )
    assert result.attempted
    assert result.failed == 0


def test_every_module_can_be_imported() -> None:
    assert [name for name in MODULES if not importlib.import_module(name)] == []
