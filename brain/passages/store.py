"""What a store of passages can do, whatever keeps it and whatever they are passages of.

`passage_file.PassageFile` is the implementation in one SQLite file, for messages and for documents;
tests/brain/passages/passage_conformance.py holds every implementation against this. Every method
raises StoreError with ``where`` and ``hint``; a session or document that does not exist is one of
the reasons. ``within`` is the id of the only session or document to search. No search changes
anything.
"""

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from typing import Protocol, Self

from kds.brain.passages.outbox import Outbox
from kds.brain.passages.values import Passage, Scored, Summary
from kds.brain.store.health import Check

Weights = tuple[float, float, float, float]
"""What a word in header, body, context and idents counts."""


class Embedder(Protocol):
    """Makes vectors of texts: the shape of langchain-core's ``Embeddings``, with a name."""

    @property
    def name(self) -> str:
        """Under which its vectors are kept: another name is another model."""
        ...

    def embed_documents(self, texts: list[str]) -> list[list[float]]:
        """Return one vector a text, all of one length."""
        ...

    def embed_query(self, text: str) -> list[float]:
        """Return the vector of a question."""
        ...


class PassageStore(Outbox, ABC):
    """Finding passages by their words, names and vectors, whatever engine keeps them."""

    @property
    @abstractmethod
    def warnings(self) -> tuple[str, ...]:
        """What was found and put right since the store was opened."""

    @abstractmethod
    def measure(self) -> tuple[int, float]:
        """Return about how many passages there are, and their mean size in tokens."""

    @abstractmethod
    def document_frequencies(self, words: Sequence[str]) -> dict[str, int]:
        """Return for each word in how many passages of the whole store it occurs."""

    @abstractmethod
    def search_words(
        self, words: Sequence[str], within: str | None = None, *, limit: int, weights: Weights
    ) -> tuple[Scored, ...]:
        """Rank passages that have any of the words (or phrases) by BM25.

        Any text is a word: nothing in it is an operator.
        """

    @abstractmethod
    def search_dense(
        self, vector: Sequence[float], within: str | None = None, *, model: str, limit: int
    ) -> tuple[Scored, ...]:
        """Rank passages by the cosine of their vectors of ``model`` to ``vector``."""

    @abstractmethod
    def search_identifiers(
        self, identifiers: Sequence[str], within: str | None = None, *, limit: int
    ) -> tuple[Scored, ...]:
        """Rank passages that hold one of the identifiers, in whatever spelling of it."""

    @abstractmethod
    def occurrences(
        self, terms: Sequence[Sequence[str]], session_id: str, *, limit: int
    ) -> tuple[Mapping[int, int], ...]:
        """Return for each term the passages of a session that have one of its words, not ranked.

        Each with its tokens; the newest ``limit`` passages a term. What a passage's context has
        does not count.
        """

    @abstractmethod
    def check(self) -> Check:
        """Examine the whole store; changes nothing."""

    @abstractmethod
    def rebuild(self) -> Check:
        """Make the search index anew, queue what has no vector, and examine everything."""

    @abstractmethod
    def close(self) -> None:
        """Let go of the store; further calls are refused. Closing twice is fine."""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


class MessageSearch(PassageStore):
    """Finding the passages of messages, and the summaries of their conversations."""

    @abstractmethod
    def passages(self, ids: Sequence[int], *, whole: bool = False) -> tuple[Passage, ...]:
        """Return the passages with these ids that exist, in the order asked for.

        ``whole``: each with the text of its message.
        """

    @abstractmethod
    def search_summaries(
        self, query: str, session_id: str, *, limit: int
    ) -> tuple[tuple[Summary, float], ...]:
        """Rank the summaries of one session that share words with ``query``."""

    @abstractmethod
    def near_summaries(
        self, vector: Sequence[float], session_id: str, *, model: str, limit: int
    ) -> tuple[tuple[Summary, float], ...]:
        """Rank the summaries of one session by their meaning."""
