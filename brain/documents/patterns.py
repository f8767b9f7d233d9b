"""The patterns and words of `patterns.yaml`, compiled."""

import re
from pathlib import Path
from typing import Any, Final

import yaml

_DATA: Final[dict[str, Any]] = yaml.load(
    Path(__file__).with_name("patterns.yaml").read_text(encoding="utf-8"),
    Loader=getattr(yaml, "CSafeLoader", yaml.SafeLoader),
)


def pattern(name: str) -> re.Pattern[str]:
    """Return the pattern of a name."""
    return _compiled(_DATA["patterns"][name])


def patterns(name: str) -> tuple[re.Pattern[str], ...]:
    """Return the patterns of a name, in their order."""
    return tuple(map(_compiled, _DATA["patterns"][name]))


def words(name: str) -> frozenset[str]:
    """Return the words of a name."""
    return frozenset(_DATA["words"][name].split())


def _compiled(text: str) -> re.Pattern[str]:
    return re.compile(_filled(text))


def _filled(text: str) -> str:
    return re.sub(r"\{([a-z]+)\}", lambda found: _filled(_DATA["parts"][found[1]]), text)
