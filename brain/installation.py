"""The version of KDS, and the lines that install it, or an extra of it, again.

The name `kds` belongs to another author's package on PyPI: only the import and the command are
called so. A line that is printed names the clone that this KDS came from, so that it never fetches
a stranger's package. Libraries that only some parts need are installed with an extra.
"""

import importlib
import json
import shlex
from functools import cache
from importlib.metadata import distribution, version
from pathlib import Path
from types import ModuleType
from typing import Any, Final
from urllib.parse import urlsplit
from urllib.request import url2pathname

from kds.brain.errors import KdsError

DISTRIBUTION: Final = "kds-router"
"""What pip calls KDS."""


@cache
def kds_version() -> str:
    """The version of the installed KDS, as this process began with it."""
    return version(DISTRIBUTION)


def install_line(extra: str | None = None, *, tool: str = "pip install") -> str:
    """What to type to install KDS, or an ``extra`` of it, from the clone it came from."""
    bracketed = f"[{extra}]" if extra else ""
    origin = _origin()
    path = Path(url2pathname(urlsplit(origin.get("url", "")).path))
    if not origin.get("url", "").startswith("file:") or not path.exists():
        return f"{tool} '.{bracketed}', in the clone of KDS"
    editable = "-e " if origin.get("dir_info", {}).get("editable") else ""
    return f"{tool} {editable}{shlex.quote(f'{path}{bracketed}')}"


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


def _origin() -> dict[str, Any]:
    """The folder or address that pip installed KDS from (`direct_url.json`, PEP 610)."""
    found: dict[str, Any] = json.loads(
        distribution(DISTRIBUTION).read_text("direct_url.json") or "{}"
    )
    return found
