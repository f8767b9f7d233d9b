"""Frozen dataclasses as the plain values of JSON, and back by the types of their fields.

pydantic does more of it, and costs 0.1 s of imports: every command would pay for them.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import fields, is_dataclass
from datetime import datetime
from types import UnionType
from typing import Any, Final, Literal, get_args, get_origin


def plain(value: Any, *, digits: int | None = None) -> Any:
    """Return ``value`` as JSON has it; floats are rounded to so many ``digits``, if any are said.

    >>> from kds.brain.turn import IntentScore
    >>> plain((IntentScore("PLAN", 0.123456),), digits=4)
    [{'intent': 'PLAN', 'confidence': 0.1235}]
    """
    if is_dataclass(value):
        return {one.name: plain(getattr(value, one.name), digits=digits) for one in fields(value)}
    if isinstance(value, Mapping):
        return {name: plain(one, digits=digits) for name, one in value.items()}
    if isinstance(value, tuple | list):
        return [plain(one, digits=digits) for one in value]
    return value if digits is None or not isinstance(value, float) else round(value, digits)


def read(kind: Any, value: Any) -> Any:
    """Return ``value`` as a ``kind``; fields with a default may be missing, unknown ones are left.

    Raises TypeError, ValueError and KeyError.

    >>> from kds.brain.turn import Edit
    >>> read(tuple[Edit, ...], [{"start": 1, "end": 2, "text": "it", "more": 3}])
    (Edit(start=1, end=2, text='it'),)
    """
    if is_dataclass(kind):
        return _record(kind, value)
    reader = _READERS.get(get_origin(kind) or kind)
    return kind(value) if reader is None else reader(get_args(kind), value)


def _record(kind: Any, value: Any) -> Any:
    if not isinstance(value, Mapping):
        raise TypeError("not an object")
    named = {one.name: one.type for one in fields(kind) if one.name in value}
    return kind(**{name: read(of, value[name]) for name, of in named.items()})


def _each(inner: tuple[Any, ...], value: Any) -> tuple[Any, ...]:
    if isinstance(value, str | Mapping) or not isinstance(value, Iterable):
        raise TypeError("a list is missing")
    return tuple(read(inner[0], one) for one in value)


def _or_none(inner: tuple[Any, ...], value: Any) -> Any:
    return None if value is None else read(inner[0], value)


def _one_of(inner: tuple[Any, ...], value: Any) -> Any:
    if value not in inner:
        raise ValueError(f"unknown value {value!r}")
    return value


def _text(inner: tuple[Any, ...], value: Any) -> str:
    if not isinstance(value, str):
        raise TypeError(f"{value!r} is not a text")
    return value


def _moment(inner: tuple[Any, ...], value: Any) -> datetime:
    return datetime.fromisoformat(_text(inner, value))


_READERS: Final[Mapping[Any, Callable[[tuple[Any, ...], Any], Any]]] = {
    tuple: _each,
    UnionType: _or_none,
    Literal: _one_of,
    str: _text,
    datetime: _moment,
}
"""Of other types (bool, int, float) a value is made as it is."""
