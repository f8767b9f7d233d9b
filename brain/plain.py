"""Values as they come out of JSON, read back into frozen dataclasses by the types of their fields.

pydantic does more of it, and costs 0.1 s of imports: every command would pay for them.
"""

from collections.abc import Iterable, Mapping
from dataclasses import fields, is_dataclass
from datetime import datetime
from types import UnionType
from typing import Any, Literal, get_args, get_origin


def read(kind: Any, value: Any) -> Any:
    """Return ``value`` as a ``kind``; fields with a default may be missing, unknown ones are left.

    Raises TypeError, ValueError and KeyError.

    >>> from kds.brain.turn import Edit
    >>> read(tuple[Edit, ...], [{"start": 1, "end": 2, "text": "it", "more": 3}])
    (Edit(start=1, end=2, text='it'),)
    """
    inner = get_args(kind)
    origin = get_origin(kind)
    if origin is tuple:
        if isinstance(value, str | Mapping) or not isinstance(value, Iterable):
            raise TypeError("a list is missing")
        return tuple(read(inner[0], one) for one in value)
    if origin is UnionType:  # of a type and None
        return None if value is None else read(inner[0], value)
    if origin is Literal:
        if value not in inner:
            raise ValueError(f"unknown value {value!r}")
        return value
    if is_dataclass(kind):
        return _record(kind, value)
    if kind is datetime:
        return datetime.fromisoformat(read(str, value))
    if kind is str and not isinstance(value, str):
        raise TypeError(f"{value!r} is not a text")
    return kind(value)


def _record(kind: Any, value: Any) -> Any:
    if not isinstance(value, Mapping):
        raise TypeError("not an object")
    named = {one.name: one.type for one in fields(kind) if one.init and one.name in value}
    return kind(**{name: read(of, value[name]) for name, of in named.items()})
