"""The patterns and words of `patterns.yaml`, compiled."""

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

import yaml

_DATA: Final[dict[str, Any]] = yaml.load(
    Path(__file__).with_name("patterns.yaml").read_text(encoding="utf-8"),
    Loader=getattr(yaml, "CSafeLoader", yaml.SafeLoader),
)


def patterns(subject: str) -> Mapping[str, re.Pattern[str]]:
    """Return the patterns of a subject by their names."""
    return {name: re.compile(_filled(text)) for name, text in _DATA[subject].items()}


def pattern_list(name: str) -> tuple[re.Pattern[str], ...]:
    """Return the patterns of a list in their order."""
    return tuple(re.compile(_filled(text)) for text in _DATA["lists"][name])


def words(name: str) -> frozenset[str]:
    """Return the words of a name."""
    return frozenset(_DATA["words"][name].split())


def _filled(text: str) -> str:
    return re.sub(r"\{([a-z]+)\}", lambda found: _filled(_DATA["parts"][found[1]]), text)
