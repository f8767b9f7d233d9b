"""Filters of prompt templates whose results are counted before they are made."""

import json
import math
from collections.abc import Callable, Iterable, Sized
from typing import Any, Final, Literal

from jinja2 import Environment, pass_environment
from jinja2.exceptions import SecurityError
from jinja2.filters import make_attrgetter

from kds.router.prompts.budget import current

MAX_STRIPPED: Final = 100
"""Different characters that `strip` may look for: it tries all of them at each place."""

MAX_DIGITS: Final = 15
"""Digits that `round` keeps. More do not fit into a floating-point number."""


def _check_replace(text: object, old: str, new: str, count: int | None = None) -> None:
    text = str(_plain(text))
    times = text.count(str(old)) if count is None or count < 0 else min(text.count(str(old)), count)
    current().spend(times * len(str(new)))


def _check_indent(text: str, width: int | str = 4, *_: object, **__: object) -> None:
    lines = len(str(_plain(text)).splitlines()) + 1
    current().spend(lines * (len(width) if isinstance(width, str) else abs(width)))


def _check_join(items: object, d: str = "", *_: object, **__: object) -> None:
    current().weigh([items])
    current().spend(len(items) * len(str(d)) if isinstance(items, Sized) else 0)


def _check_strip(text: object, chars: str | None = None) -> None:
    del text
    if chars is not None and len(chars) > MAX_STRIPPED:
        raise SecurityError(f"strips more than {MAX_STRIPPED} different characters")


def _check_plain(value: object, *_: object, **__: object) -> None:
    _plain(value)


def _plain(value: object) -> object:
    """The value itself, counted, once it is known that it can be written as text."""
    current().weigh([value])
    return value


CHECKED: Final[dict[str, Callable[..., None]]] = {
    "replace": _check_replace,
    "indent": _check_indent,
    "join": _check_join,
    "trim": _check_strip,
    **dict.fromkeys(
        ("capitalize", "lower", "string", "title", "tojson", "truncate", "upper", "wordcount"),
        _check_plain,
    ),
}
"""What is asked before a filter runs."""

CHECKED_METHODS: Final[dict[str, Callable[..., None]]] = {
    "replace": _check_replace,
    **dict.fromkeys(("lstrip", "rstrip", "strip"), _check_strip),
}
"""What is asked before a method of a text runs."""


def _as_json(value: object, indent: Literal[2] | None = None) -> str:
    if indent not in (None, 2):
        raise SecurityError("'tojson' takes indent=2 or none")
    return json.dumps(value, ensure_ascii=False, indent=indent)


def _round(value: float, precision: Any = 0, method: str = "common") -> float:
    """As Jinja's, for numbers: 10 ** precision is a number of any size."""
    _number(value)
    if not isinstance(precision, int) or abs(precision) > MAX_DIGITS:
        raise SecurityError(f"'round' keeps at most {MAX_DIGITS} digits")
    if method == "common":
        return round(value, precision)
    shift = 10.0**precision
    whole = {"ceil": math.ceil, "floor": math.floor}.get(method)
    if whole is None:
        raise SecurityError("'round' knows common, ceil and floor")
    return float(whole(value * shift) / shift)


@pass_environment
def _sum(
    environment: Environment,
    items: Iterable[Any],
    attribute: str | int | None = None,
    start: float = 0,
) -> float:
    """As Jinja's, for numbers: a sum of lists copies each of them many times."""
    if attribute is not None:
        items = map(make_attrgetter(environment, attribute), items)
    total: float = sum((_number(item) for item in items), _number(start))
    return total


OWN_FILTERS: Final[dict[str, Callable[..., Any]]] = {
    "round": _round,
    "sum": _sum,
    "tojson": _as_json,
}
"""Filters that replace Jinja's."""


def divisible(value: int, number: int) -> bool:
    """Whether one number divides another: `%` would format a text."""
    return bool(_number(value) % _number(number) == 0)


def _number(value: Any) -> Any:
    if not isinstance(value, int | float):
        raise SecurityError("a text or list stands where a number must be")
    return value
