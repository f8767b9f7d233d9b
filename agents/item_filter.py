"""Which values a LangGraph filter lets through: equal fields, or `$eq $ne $gt $gte $lt $lte`."""

import operator
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

_ORDERINGS: Final[Mapping[str, Callable[[Any, Any], bool]]] = {
    "$gt": operator.gt,
    "$gte": operator.ge,
    "$lt": operator.lt,
    "$lte": operator.le,
}


def matches(value: Mapping[str, object], wanted: Mapping[str, object]) -> bool:
    """Tell whether every field of ``wanted`` is met.

    Raises ValueError for an operator that is none.

    >>> matches({"score": 5, "tag": {"kind": "note"}}, {"score": {"$gte": 4}})
    True
    >>> matches({"score": "none"}, {"score": {"$gt": 4}})
    False
    """
    return all(_meets(value.get(field), condition) for field, condition in wanted.items())


def _meets(value: object, condition: object) -> bool:
    if isinstance(condition, Mapping):
        if any(str(key).startswith("$") for key in condition):
            return all(_compares(value, sign, other) for sign, other in condition.items())
        return isinstance(value, Mapping) and matches(value, condition)
    if isinstance(condition, list | tuple):
        return (
            isinstance(value, list | tuple)
            and len(value) == len(condition)
            and all(map(_meets, value, condition))
        )
    return value == condition


def _compares(value: object, sign: str, other: object) -> bool:
    if sign == "$eq":
        return value == other
    if sign == "$ne":
        return value != other
    if sign not in _ORDERINGS:
        raise ValueError(f"unknown operator {sign!r}: use $eq, $ne, {', '.join(_ORDERINGS)}")
    pair = _comparable(value, other)
    return pair is not None and _ORDERINGS[sign](*pair)


def _comparable(value: object, other: object) -> Sequence[Any] | None:
    """Both as numbers where both are, else both as the texts they are; None: neither."""
    try:
        return float(value), float(other)  # type: ignore[arg-type]  # what is none raises
    except (TypeError, ValueError):
        return (value, other) if isinstance(value, str) and isinstance(other, str) else None
