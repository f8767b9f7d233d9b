"""Every example in a docstring runs."""

import doctest
import importlib
import pkgutil

import pytest

import kds

MODULES = sorted(
    module.name for module in pkgutil.walk_packages(kds.__path__, prefix="kds.") if module.name
)


@pytest.mark.parametrize("name", ["kds", *MODULES])
def test_the_examples_in_docstrings_run(name: str) -> None:
    result = doctest.testmod(
        importlib.import_module(name), optionflags=doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE
    )
    assert result.failed == 0
