"""The front matter of a prompt file with stand-ins for what does not fit.

Only for checking: one wrong value must not hide what else is wrong in the file.
"""

from collections.abc import Iterable, Mapping
from copy import deepcopy
from typing import Any, Final

from kds.brain.yaml_files import NodePath

NAMELESS: Final = "STAND_IN"
"""In place of an intent that is none: patterns are not to be told off for having no intent."""

_PATTERN_KEYS: Final = ("patterns", "not", "needs")
_WORDS: Final = ("regex", "literal")


def doubtful_keys(
    data: Mapping[str, Any], misfits: Iterable[NodePath], known: Iterable[str]
) -> frozenset[str]:
    """The keys of which the file may have meant something else than what can be read.

    >>> sorted(doubtful_keys({"inptus": []}, [("inptus",)], ["inputs", "name"]))
    ['inptus', 'inputs', 'name']
    """
    names = set(known)
    wrong = {str(place[0]) for place in misfits if place}
    misspelt = any(key not in names for key in data)
    return frozenset(wrong | (names - data.keys() if misspelt else set()))


def mended(
    data: Mapping[str, Any],
    misfits: Iterable[NodePath],
    stand_ins: Mapping[str, object],
    doubtful: frozenset[str],
) -> dict[str, Any]:
    """A copy of ``data`` in which all ``misfits`` are replaced or gone.

    >>> front = {"name": 5, "patterns": [{"regex": "a", "weight": 2}, "b"]}
    >>> places = [("name",), ("patterns", 0, "weight"), ("patterns", 1)]
    >>> mended(front, places, {"name": "x"}, frozenset({"name", "patterns"}))
    {'patterns': [{'regex': 'a', 'weight': 1.0}, {'literal': 'x', 'weight': 1.0}], 'name': 'x'}
    """
    whole: dict[str, Any] = deepcopy(dict(data))
    for place in misfits:
        if len(place) > 1 and place[0] in _PATTERN_KEYS and isinstance(place[1], int):
            _mend_pattern(
                whole[str(place[0])], place[1], place[2:], weighted=place[0] == "patterns"
            )
        elif place:
            whole.pop(str(place[0]), None)
    missing = {key: stand_ins[key] for key in stand_ins if key in doubtful and key not in whole}
    return whole | missing


def _mend_pattern(
    entries: list[Any], index: int, within: tuple[str | int, ...], *, weighted: bool
) -> None:
    entry = entries[index]
    if not isinstance(entry, dict) or not within or within[0] in _WORDS:
        entries[index] = {"literal": "x"} | ({"weight": 1.0} if weighted else {})
    elif within[0] == "weight" and weighted:
        entry["weight"] = 1.0
    else:
        entry.pop(within[0], None)
