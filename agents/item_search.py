"""What the items of a LangGraph store are found by: their fields, and vectors.

Filters ask for equal fields, or `$eq $ne $gt $gte $lt $lte`. Vectors are by whatever embeddings
the configuration names: a model that fails costs nothing but the search by meaning, as the items
are kept, and their vectors are made with a later call.
"""

import logging
import operator
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Final, TypeVar

from langchain_core.embeddings import Embeddings

logger = logging.getLogger(__name__)

Nothing = TypeVar("Nothing")

BATCH: Final = 64
"""Texts embedded with one call, and the most that one call makes up for."""

_MODEL_FIELDS: Final = ("model", "model_name")
"""Where LangChain's integrations keep which model it is."""

_ORDERINGS: Final[Mapping[str, Callable[[Any, Any], bool]]] = {
    "$gt": operator.gt,
    "$gte": operator.ge,
    "$lt": operator.lt,
    "$lte": operator.le,
}


class ItemVectors:
    """Embeds texts and questions; what fails is logged, and comes back empty."""

    def __init__(self, embeddings: Embeddings, *, made_of: object, dims: int) -> None:
        """Use ``embeddings``; ``made_of`` is what the configuration named, such as a function."""
        self._embeddings = embeddings
        self.name = f"{_called(made_of)} ({dims})"
        """Under which vectors are kept: another name, and all are made anew."""

    def of_queries(self, queries: Iterable[str]) -> dict[str, Sequence[float]]:
        """Return the vectors of questions."""
        try:
            return {query: self._embeddings.embed_query(query) for query in queries}
        except Exception as error:  # noqa: BLE001  # foreign code: words still find
            return _lost(error, {})

    def of_texts(self, texts: Sequence[str]) -> list[list[float]]:
        """Return a vector for each text, or none at all."""
        try:
            return _whole(self._embeddings.embed_documents(list(texts)), texts)
        except Exception as error:  # noqa: BLE001  # foreign code: they stay due
            return _lost(error, [])

    async def aof_queries(self, queries: Iterable[str]) -> dict[str, Sequence[float]]:
        """As `of_queries`."""
        try:
            return {query: await self._embeddings.aembed_query(query) for query in queries}
        except Exception as error:  # noqa: BLE001  # foreign code: words still find
            return _lost(error, {})

    async def aof_texts(self, texts: Sequence[str]) -> list[list[float]]:
        """As `of_texts`."""
        try:
            return _whole(await self._embeddings.aembed_documents(list(texts)), texts)
        except Exception as error:  # noqa: BLE001  # foreign code: they stay due
            return _lost(error, [])


def _whole(vectors: list[list[float]], texts: Sequence[str]) -> list[list[float]]:
    if len(vectors) != len(texts):
        raise ValueError(f"{len(vectors)} vectors for {len(texts)} texts")
    return vectors


def _lost(error: Exception, nothing: Nothing) -> Nothing:
    logger.warning("no vectors, words only: %s: %s", type(error).__name__, error)
    return nothing


def _called(made_of: object) -> str:
    if isinstance(made_of, str):
        return made_of
    kind = made_of if hasattr(made_of, "__qualname__") else type(made_of)
    name = f"{kind.__module__}:{kind.__qualname__}"
    details = (getattr(made_of, field, None) for field in _MODEL_FIELDS)
    detail = next((text for text in details if isinstance(text, str) and text), "")
    return f"{name} {detail}".rstrip()


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
