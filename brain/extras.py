"""Libraries that only some parts need: installed with an extra of the package."""

import importlib
from types import ModuleType

from kds.brain.errors import KdsError
from kds.brain.installation import install_line


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
