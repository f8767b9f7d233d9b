"""What the conversation memory takes and gives: frozen values, the same for every store.

Times are aware datetimes in UTC. Tokens are counted by the store's counter (`tokens`).
"""

from dataclasses import dataclass
from datetime import datetime
from typing import Final, Literal

Role = Literal["user", "assistant", "system", "tool"]

ChunkKind = Literal["prose", "code"]

SummaryKind = Literal["rolling", "periodic"]

ModelState = Literal["building", "serving"]


@dataclass(frozen=True, slots=True)
class Session:
    """One conversation. ``num`` is its number in the store, never given twice."""

    id: str
    num: int
    title: str
    """Empty until somebody names the session or its first user message does."""
    created_at: datetime
    updated_at: datetime
    """When something was last added or changed: `sessions` lists the latest first."""
    document_context: str | None
    message_count: int
    token_count: int


@dataclass(frozen=True, slots=True)
class Message:
    """One message as it was stored: secrets are replaced by marks, code is kept."""

    id: str
    session_id: str
    seq: int
    """Position in the session, from 1, without gaps."""
    role: Role
    content: str
    at: datetime
    tokens: int
    speaker: str | None = None


@dataclass(frozen=True, slots=True)
class Chunk:
    """A part of a message that can be found and quoted by itself.

    The bodies of a message's chunks, one after the other, are the message.
    """

    id: int
    """``session.num << 24 | n``: the chunks of a session are one range, in order."""
    message_id: str
    session_id: str
    kind: ChunkKind
    language: str | None
    """Of a code block, as its fence says, in lower case."""
    header: str
    """The nearest heading; for code the file name and the first definition."""
    body: str
    context: str
    """The beginnings of the two messages before."""
    idents: str
    """The identifiers of the body, split and joined: ``get user name getusername``."""
    tokens: int


@dataclass(frozen=True, slots=True)
class Passage:
    """A chunk as a search looks at it again: who said it when, and not what the index needs."""

    chunk_id: int
    message_id: str
    session_id: str
    role: Role
    speaker: str | None
    at: datetime
    kind: ChunkKind
    header: str
    body: str
    idents: str
    tokens: int


@dataclass(frozen=True, slots=True)
class Summary:
    """What the messages ``first_seq`` to ``last_seq`` of a session said, in short."""

    id: int
    session_id: str
    first_seq: int
    last_seq: int
    text: str
    at: datetime
    kind: SummaryKind


@dataclass(frozen=True, slots=True)
class Scope:
    """Where to search: one session, the sessions of one document, or (both None) everything."""

    session_id: str | None = None
    document: str | None = None


EVERYWHERE: Final = Scope()


@dataclass(frozen=True, slots=True)
class Scored:
    """A hit of one search. Scores of different searches do not compare; higher is better."""

    chunk_id: int
    score: float


@dataclass(frozen=True, slots=True)
class EmbeddingJob:
    """A chunk that waits for its vector; ``attempts`` have failed so far."""

    chunk: Chunk
    attempts: int


@dataclass(frozen=True, slots=True)
class EmbeddingModel:
    """A model whose vectors are stored. ``serving``: search with it; ``building``: not yet whole.

    ``waiting`` chunks have no vector yet; for ``failed`` of these nobody tries any more.
    """

    name: str
    dimensions: int | None
    """None until the first vector is stored."""
    state: ModelState
    vectors: int
    waiting: int
    failed: int
    last_error: str = ""
    """Of a chunk that could not be embedded, the latest known."""


@dataclass(frozen=True, slots=True)
class Stats:
    """How much a store holds. ``size_bytes`` counts the files of the store on disk."""

    sessions: int
    messages: int
    chunks: int
    summaries: int
    tokens: int
    models: tuple[EmbeddingModel, ...]
    size_bytes: int
    schema_version: int


@dataclass(frozen=True, slots=True)
class Check:
    """What an examination of the store found wrong."""

    problems: tuple[str, ...] = ()

    @property
    def sound(self) -> bool:
        """Whether nothing is wrong."""
        return not self.problems


@dataclass(frozen=True, slots=True)
class Cleanup:
    """The sessions that a cleanup removed, or would remove (``dry_run``)."""

    sessions: tuple[Session, ...]
    dry_run: bool

    @property
    def message_count(self) -> int:
        """Messages in all of these sessions."""
        return sum(session.message_count for session in self.sessions)


@dataclass(frozen=True, slots=True)
class EntityMemory:
    """What is known of the things a conversation talks about, for resolving references."""

    key: str
    terms: tuple["EntityTerm", ...]
    """The latest first."""
    documents: tuple[str, ...]
    sections: tuple[str, ...]
    turn_count: int
    expires_at: datetime


@dataclass(frozen=True, slots=True)
class EntityTerm:
    """A term that was resolved, and a piece of the answer it was resolved with."""

    term: str
    snippet: str
    turn: int


@dataclass(frozen=True, slots=True)
class Metric:
    """One measured event: what it is called and what was measured."""

    at: datetime
    name: str
    data: dict[str, object]


@dataclass(frozen=True, slots=True)
class Archive:
    """A whole session, to be written out or put back. Its messages are numbered from 1."""

    session: Session
    messages: tuple[Message, ...]
    summaries: tuple[Summary, ...] = ()
