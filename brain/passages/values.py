"""What the searches of a store take and give: frozen values, the same for every store.

Times are aware datetimes in UTC. Tokens are counted by the store's counter (`tokens`).
"""

from dataclasses import dataclass
from datetime import datetime
from typing import Final, Literal

Role = Literal["user", "assistant", "system", "tool"]
ChunkKind = Literal["prose", "code"]
SummaryKind = Literal["rolling", "periodic"]

KDS: Final = "kds"
"""Speaker of what KDS itself says: its questions, and that something was dropped."""


def is_told(role: Role, speaker: str | None) -> bool:
    """Whether a message tells anything that can be found, quoted and summarised.

    What the system says is for the model alone, and what KDS asks the user tells nothing.
    """
    return role != "system" and not (role == "assistant" and speaker == KDS)


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
    details: str | None = None
    """What KDS made of it, as JSON (`kds.brain.passages.details`); only where it is asked for."""


@dataclass(frozen=True, slots=True)
class Passage:
    """A part of a message that can be found and quoted by itself: who said it when.

    The bodies of a message's passages, one after the other, are the message.
    """

    chunk_id: int
    """``session.num << 24 | n``: the passages of a session are one range, in order."""
    message_id: str
    session_id: str
    document: str | None
    """Which documents its session is about, one a line."""
    role: Role
    speaker: str | None
    at: datetime
    kind: ChunkKind
    header: str
    """The nearest heading; for code the file name and the first definition."""
    body: str
    idents: str
    """The identifiers of the body, split and joined: ``get user name getusername``."""
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


Scores = dict[int, float]
"""Passages that a search found, best first, with scores. Those of different searches do not
compare."""


@dataclass(frozen=True, slots=True)
class EmbeddingJob:
    """A passage that waits for its vector, as a model is given it; ``attempts`` have failed."""

    chunk_id: int
    text: str
    attempts: int


@dataclass(frozen=True, slots=True)
class EmbeddingModel:
    """A model whose vectors are stored: ``waiting`` chunks have none yet, ``failed`` are given up.

    Searches use the one that is ``serving``; one that is ``building`` is not yet whole.
    """

    name: str
    dimensions: int | None
    """None until the first vector is stored."""
    state: Literal["building", "serving"]
    vectors: int
    waiting: int
    failed: int
    last_error: str = ""
