"""The version of KDS, and the lines that install it, or an extra of it, again.

The name `kds` belongs to another author's package on PyPI: only the import and the command are
called so. A line that is printed installs from the clone, so that it never fetches a stranger's
package. Libraries that only some parts need are installed with an extra.
"""

import importlib
from functools import cache
from importlib.metadata import version
from types import ModuleType
from typing import Final

from kds.brain.errors import KdsError

DISTRIBUTION: Final = "kds-router"
"""What pip calls KDS."""


@cache
def kds_version() -> str:
    """The version of the installed KDS, as this process began with it."""
    return version(DISTRIBUTION)


def install_line(extra: str | None = None, *, tool: str = "pip install") -> str:
    """What to type to install KDS, or an ``extra`` of it, from its clone.

    >>> install_line("docs")
    "pip install '.[docs]', in the clone of KDS"
    """
    return f"{tool} '.{f'[{extra}]' if extra else ''}', in the clone of KDS"


def load_extra(module: str, *, extra: str, purpose: str) -> ModuleType:
    """Import ``module``; a KdsError that names the ``extra`` when it is not installed.

    >>> load_extra("json", extra="eval", purpose="print").__name__
    'json'
    """
    try:
        return importlib.import_module(module)
    except ModuleNotFoundError as error:
        name = module.partition(".")[0]
        if (error.name or "").partition(".")[0] != name:
            raise
        raise KdsError(
            f"'{name}' is needed to {purpose}, and not installed",
            hint=f"{install_line(extra)} (the extra '{extra}' of KDS)",
        ) from error
