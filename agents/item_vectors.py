"""Vectors for a LangGraph store, by whatever embeddings its configuration names.

A model that fails costs nothing but the search by meaning: the items are kept, and their
vectors are made with a later call.
"""

import logging
from collections.abc import Iterable, Sequence
from typing import Final, TypeVar

from langchain_core.embeddings import Embeddings

logger = logging.getLogger(__name__)

Nothing = TypeVar("Nothing")

BATCH: Final = 64
"""Texts embedded with one call, and the most that one call makes up for."""

_MODEL_FIELDS: Final = ("model", "model_name")
"""Where LangChain's integrations keep which model it is."""


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
