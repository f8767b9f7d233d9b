"""Rows by their ids, in the order asked for."""

from collections.abc import Callable, Iterable, Sequence
from typing import Any, Final, TypeVar

IDS_AT_ONCE: Final = 500
"""Ids in one question to SQLite, which allows 999 in its older versions."""

Row = tuple[Any, ...]
"""What sqlite3 gives; the query knows the columns."""

T = TypeVar("T")


def in_order(
    ids: Sequence[int], read: Callable[[str, Sequence[int]], Iterable[tuple[int, T]]]
) -> tuple[T, ...]:
    """Return what ``read`` finds of some ids at a time, each once, in the order of ``ids``.

    It is given the marks that stand for the ids in a question, and the ids.
    """
    wanted = list(dict.fromkeys(map(int, ids)))
    found: dict[int, T] = {}
    for at in range(0, len(wanted), IDS_AT_ONCE):
        some = wanted[at : at + IDS_AT_ONCE]
        found.update(read(", ".join("?" * len(some)), some))
    return tuple(found[one] for one in wanted if one in found)
