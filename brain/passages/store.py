"""What a store of passages can do, whatever keeps it, and where a workspace keeps its own.

`passage_file.PassageFile` is the implementation in one SQLite file, for messages and for documents;
`postgres_passages` the one on a server. Both are held against tests/brain/passage_conformance.py.
Every method raises StoreError with ``where`` and ``hint``, for unknown sessions and documents too.
``within`` is the id of the only session or document to search. No search changes anything.
"""

import os
from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar, Final, Generic, Protocol, Self, TypeVar

from kds.brain.clock import Clock, utc_now
from kds.brain.git import keep_private
from kds.brain.passages.embedding_queue import EmbeddingQueue
from kds.brain.passages.values import Passage, Scored, Summary
from kds.brain.store.health import Check, healing
from kds.brain.words.identifiers import joined_forms
from kds.brain.words.tokens import TokenCounter, estimate_tokens
from kds.brain.workspace import SharedDatabase, Workspace, shared_database

Weights = tuple[float, float, float, float]
"""What a word in header, body, context and idents counts."""

IDENTIFIER_WEIGHTS: Final[Weights] = (1.0, 1.0, 0.3, 1.0)
"""Measured on LoCoMo."""


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


class PassageStore(EmbeddingQueue, ABC):
    """Finding passages by their words, names and vectors, whatever engine keeps them."""

    holders: ClassVar[str]
    """The table that counts passages and tokens: of sessions, or of documents."""

    @property
    def warnings(self) -> tuple[str, ...]:
        """What was found and put right, and not told yet."""
        return ()

    def take_warnings(self) -> tuple[str, ...]:
        """Return the warnings, which are told once."""
        return ()

    def measure(self) -> tuple[int, float]:
        """Return about how many passages there are, and their mean size in tokens."""
        with self.database.read() as connection:
            passages, tokens = connection.execute(
                "SELECT coalesce(sum(chunk_count), 0), coalesce(sum(token_count), 0) "
                f"FROM {self.holders}"
            ).fetchone()
        return int(passages), float(tokens) / max(int(passages), 1)

    @healing
    def search_words(
        self, words: Sequence[str], within: str | None = None, *, limit: int, weights: Weights
    ) -> tuple[Scored, ...]:
        """Rank passages that have any of the words (or phrases) by BM25.

        Any text is a word: nothing in it is an operator.
        """
        return self._ranked(words, within, limit=limit, weights=weights)

    @healing
    def search_identifiers(
        self, identifiers: Sequence[str], within: str | None = None, *, limit: int
    ) -> tuple[Scored, ...]:
        """Rank passages that hold one of the identifiers, in whatever spelling of it."""
        names = joined_forms(identifiers)
        return self._ranked(names, within, limit=limit, weights=IDENTIFIER_WEIGHTS, names=True)

    @abstractmethod
    def _ranked(
        self,
        words: Iterable[str],
        within: str | None,
        *,
        limit: int,
        weights: Weights,
        names: bool = False,
    ) -> tuple[Scored, ...]:
        """Rank the passages that have any of the words; ``names``: among their identifiers."""

    @abstractmethod
    def document_frequencies(self, words: Sequence[str]) -> dict[str, int]:
        """Return for each word in how many passages of the whole store it occurs.

        Of a word that the index cuts into several terms, the rarest counts.
        """

    @abstractmethod
    def search_dense(
        self, vector: Sequence[float], within: str | None = None, *, model: str, limit: int
    ) -> tuple[Scored, ...]:
        """Rank passages by the cosine of their vectors of ``model`` to ``vector``."""

    @abstractmethod
    def occurrences(
        self, terms: Sequence[Sequence[str]], within: str | None = None, *, limit: int
    ) -> tuple[Mapping[int, int], ...]:
        """Return for each term the passages that have one of its words, not ranked.

        Each with its tokens; the newest ``limit`` passages a term. What a passage's context has
        does not count.
        """

    @abstractmethod
    def check(self) -> Check:
        """Examine the whole store; changes nothing."""

    @abstractmethod
    def rebuild(self) -> Check:
        """Rebuild the search index, queue what has no vector, and examine everything."""

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


S = TypeVar("S", bound=PassageStore)


@dataclass(frozen=True, slots=True)
class Place(ABC, Generic[S]):
    """A store of a workspace, wherever that is. Looking makes nothing."""

    file_name: ClassVar[str]
    """In the `kds-brain` folder of a workspace."""
    private: ClassVar[tuple[str, ...]]
    """What in that folder no commit may hold."""
    workspace: Workspace
    shared: SharedDatabase | None = None
    """None: in the workspace's file."""

    @classmethod
    def of(cls, workspace: Workspace, *, environ: Mapping[str, str] = os.environ) -> Self:
        """Find the store of a workspace. Raises SettingsError when a server may be set wrong."""
        return cls(workspace, shared_database(workspace, environ=environ))

    @property
    def path(self) -> Path:
        """The file, whether it is used or not."""
        return self.workspace.brain / self.file_name

    @property
    def exists(self) -> bool:
        """Whether something may be there: on a server that is not known unasked."""
        return self.shared is not None or self.path.exists()

    def __str__(self) -> str:
        """The file, or the server without user and password."""
        return str(self.shared or self.path)

    def if_any(self) -> S | nullcontext[None]:
        """Open the store for as long as the block runs; None when nothing was ever stored."""
        return self.open() if self.exists else nullcontext()

    def open(self, *, clock: Clock = utc_now, count_tokens: TokenCounter = estimate_tokens) -> S:
        """Open the store, made if there is none; the caller closes it.

        Raises WorkspaceError, and StoreError when the file or server cannot be used.
        """
        if not self.exists:
            self.prepare()
        return self._opened(clock=clock, count_tokens=count_tokens)

    def prepare(self) -> None:
        """Make the folder of the file, and see that git would not commit what is to be stored.

        Raises WorkspaceError, such as ExposedError.
        """
        if self.shared is None:
            keep_private(self.workspace, self.private)

    @abstractmethod
    def _opened(self, **options: Any) -> S:
        """Open the file, made if there is none, or the store of the tenant."""
