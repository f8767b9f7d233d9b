"""What a conversation memory can do, whatever keeps it: the protocols and nothing else.

`sqlite_store.SqliteStore` is the implementation in one file; tests/brain/memory/conformance.py
holds every implementation against this. Every method raises StoreError with ``where`` and
``hint``; a session that does not exist is one of the reasons.
"""

from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from typing import Protocol

from kds.brain.passages.values import (
    EVERYWHERE,
    Archive,
    Check,
    Chunk,
    Cleanup,
    EmbeddingJob,
    EmbeddingModel,
    Message,
    Passage,
    Role,
    Scope,
    Scored,
    Session,
    Stats,
    Summary,
    SummaryKind,
)
from kds.brain.sessions.side_stores import EntityStore, ItemStore, MetricStore, ProfileStore


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


class SessionStore(Protocol):
    """Conversations and what was said in them."""

    def create_session(
        self,
        *,
        title: str | None = None,
        document_context: str | None = None,
        session_id: str | None = None,
    ) -> Session:
        """Begin a session; without an id it gets a random one. An id in use is refused."""
        ...

    def session(self, session_id: str) -> Session:
        """Return the session."""
        ...

    def find_session(self, session_id: str) -> Session | None:
        """Return the session, None when there is none."""
        ...

    def sessions(self, *, limit: int = 50, offset: int = 0) -> tuple[Session, ...]:
        """Return sessions, the one changed last first."""
        ...

    def rename(self, session_id: str, title: str) -> Session:
        """Give the session a title that stays."""
        ...

    def set_document(self, session_id: str, document: str | None) -> Session:
        """Say which document the session is about."""
        ...

    def delete_session(self, session_id: str) -> None:
        """Remove the session, all it holds, and its bytes from every file of the store."""
        ...

    def cleanup(self, older_than: timedelta, *, dry_run: bool = True) -> Cleanup:
        """Remove the sessions in which nothing happened for longer than ``older_than``."""
        ...

    def append(
        self,
        session_id: str,
        role: Role,
        content: str,
        *,
        at: datetime | None = None,
        speaker: str | None = None,
        message_id: str | None = None,
    ) -> Message:
        """Store a message with its chunks, index rows and embedding jobs, at once or not at all.

        When it returns, the message outlives a crash of the process and of the machine. A
        ``message_id`` that is stored already, with the same content in the same session, is
        returned as it is; with another content it is refused.
        """
        ...

    def messages(
        self, session_id: str, *, last: int | None = None, before_seq: int | None = None
    ) -> tuple[Message, ...]:
        """Return messages in order: all, or the ``last`` ones (before ``before_seq``)."""
        ...

    def message(self, message_id: str) -> Message:
        """Return one message."""
        ...

    def restore(self, archive: Archive) -> Session:
        """Put an archived session back as it was; ids that are taken become new ones."""
        ...

    def add_summary(
        self, session_id: str, first_seq: int, last_seq: int, text: str, *, kind: SummaryKind
    ) -> Summary:
        """Store a summary of a run of messages."""
        ...

    def summaries(self, session_id: str, *, kind: SummaryKind | None = None) -> tuple[Summary, ...]:
        """Return the summaries of a session in the order they were made."""
        ...


class SearchStore(Protocol):
    """Finding chunks. No search changes anything."""

    def chunks(self, ids: Sequence[int]) -> tuple[Chunk, ...]:
        """Return the chunks with these ids that exist, in the order asked for."""
        ...

    def passages(self, ids: Sequence[int]) -> tuple[Passage, ...]:
        """Return the chunks with these ids that exist as passages, in the order asked for."""
        ...

    def chunk_count(self) -> int:
        """Return about how many chunks there are: what `document_frequencies` is out of."""
        ...

    def message_chunks(self, message_id: str) -> tuple[Chunk, ...]:
        """Return the chunks of a message in order."""
        ...

    def search_lexical(
        self,
        query: str,
        scope: Scope = EVERYWHERE,
        *,
        limit: int,
        weights: tuple[float, float, float, float] | None = None,
    ) -> tuple[Scored, ...]:
        """Rank chunks that share words with ``query`` by BM25.

        ``weights`` of header, body, context and idents. Any text is a query: nothing in it is
        an operator.
        """
        ...

    def search_words(
        self,
        words: Sequence[str],
        scope: Scope = EVERYWHERE,
        *,
        limit: int,
        weights: tuple[float, float, float, float] | None = None,
    ) -> tuple[Scored, ...]:
        """As `search_lexical`, for words (or phrases) that were chosen already."""
        ...

    def occurrences(
        self, terms: Sequence[Sequence[str]], session_id: str, *, limit: int
    ) -> tuple[Mapping[int, int], ...]:
        """Return for each term the chunks of a session that have one of its words, not ranked.

        Each with its tokens; the newest ``limit`` chunks a term. What a chunk's context has
        does not count.
        """
        ...

    def search_identifiers(
        self, identifiers: Sequence[str], scope: Scope = EVERYWHERE, *, limit: int
    ) -> tuple[Scored, ...]:
        """Rank chunks that hold one of the identifiers, in whatever spelling of it."""
        ...

    def search_dense(
        self, vector: Sequence[float], *, model: str, scope: Scope = EVERYWHERE, limit: int
    ) -> tuple[Scored, ...]:
        """Rank chunks by the cosine of their vectors of ``model`` to ``vector``."""
        ...

    def search_summaries(
        self, query: str, session_id: str, *, limit: int
    ) -> tuple[tuple[Summary, float], ...]:
        """Rank the summaries of one session that share words with ``query``."""
        ...

    def document_frequencies(self, words: Sequence[str]) -> dict[str, int]:
        """Return for each word in how many chunks of the whole store it occurs."""
        ...


class EmbeddingStore(Protocol):
    """The outbox of chunks that wait for vectors, and the models whose vectors are kept."""

    def use_model(self, name: str | None) -> None:
        """Say whose vectors are wanted from now on; every chunk without one is queued.

        Another model that serves goes on serving until the new one has all chunks; then its
        vectors are removed. None: queue nothing any more.
        """
        ...

    def models(self) -> tuple[EmbeddingModel, ...]:
        """Return the models in use: the serving one first."""
        ...

    def pending_embeddings(self, limit: int) -> tuple[EmbeddingJob, ...]:
        """Claim up to ``limit`` chunks that are due; nobody else gets them for a while."""
        ...

    def store_embeddings(self, model: str, vectors: Mapping[int, Sequence[float]]) -> int:
        """Store vectors by chunk id and take their jobs off the queue; returns how many.

        Chunks that were deleted meanwhile are passed over.
        """
        ...

    def fail_embeddings(self, chunk_ids: Sequence[int], error: str) -> None:
        """Put jobs back: tried again later and later, and given up after some attempts."""
        ...

    def retry_embeddings(self) -> int:
        """Make every job due now, also those given up; returns how many."""
        ...


class MemoryStore(SessionStore, SearchStore, EmbeddingStore, Protocol):
    """All of it: SQLite now, PostgreSQL next."""

    @property
    def warnings(self) -> tuple[str, ...]:
        """What was found and put right since the store was opened."""
        ...

    @property
    def profile(self) -> ProfileStore:
        """What the user consented to be remembered."""
        ...

    @property
    def entities(self) -> EntityStore:
        """What the router may resolve references with."""
        ...

    @property
    def metrics(self) -> MetricStore:
        """What recalls measured."""
        ...

    @property
    def items(self) -> ItemStore:
        """What agents keep."""
        ...

    def stats(self) -> Stats:
        """Return how much is stored."""
        ...

    def check(self) -> Check:
        """Examine the whole store; changes nothing."""
        ...

    def rebuild(self) -> Check:
        """Make the search index anew from the chunks, and what follows from messages; re-check."""
        ...

    def close(self) -> None:
        """Let go of the store; further calls are refused. Closing twice is fine."""
        ...
