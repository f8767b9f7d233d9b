"""spaCy, imported without its command line.

``import spacy`` imports `spacy.cli` for the sake of one function, `spacy.info`, and with it typer,
weasel, requests and httpx: 0.35 of 0.8 s of CPU, which a cold `kds route` need not pay.
"""

import sys
from importlib import import_module
from types import ModuleType
from typing import Any, Final

_CLI: Final = "spacy.cli"
_INFO: Final = "spacy.cli.info"


def import_spacy() -> None:
    """Import spaCy. Its command line is loaded when somebody imports it, or calls `spacy.info`."""
    if "spacy" in sys.modules or _CLI in sys.modules:
        return
    cli, info = ModuleType(_CLI), ModuleType(_INFO)
    cli.__path__ = []
    info.__dict__["info"] = _info
    sys.modules |= {_CLI: cli, _INFO: info}
    try:
        import_module("spacy")
    finally:
        for name in (_CLI, _INFO):
            sys.modules.pop(name, None)


def _info(*args: Any, **options: Any) -> Any:
    """What `spacy.info` is: the real one, loaded now."""
    return import_module(_INFO).info(*args, **options)
