"""What the conversation memory takes and gives beside passages: frozen values.

Times are aware datetimes in UTC. Tokens are counted by the store's counter (`tokens`).
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Any, Final, Literal

from kds.brain.passages.values import EmbeddingModel, Message, Summary

"""Labels from the outermost inwards; none of them empty."""

ConsentAction = Literal["granted", "revoked", "changed", "used"]


COUNTED: Final[Mapping[str, bool]] = {"counted": True}
"""Marks a field of `Session` that the store works out itself: no export has it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Session:
    """One conversation, and the definition of one: each field is a column of both engines.

    Rows, exports, and the JSON of commands are read from these fields. To add one: a field with
    a default, and the column in both lists of migrations (`memory_rows.added_column`).
    """

    id: str
    num: int = field(default=0, metadata=COUNTED)
    """Its number in the store, never given twice."""
    title: str = ""
    """Empty until somebody names the session or its first user message does."""
    created_at: datetime
    updated_at: datetime
    """When something was last added or changed: `sessions` lists the latest first."""
    document_context: str | None = None
    """Paths of the documents that the session is about, one a line."""
    message_count: int = field(default=0, metadata=COUNTED)
    token_count: int = field(default=0, metadata=COUNTED)

    @property
    def documents(self) -> tuple[str, ...]:
        """Paths of the documents that the session is about."""
        return tuple((self.document_context or "").splitlines())


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


@dataclass(frozen=True, slots=True)
class Profile:
    """What the user told about themselves: structured fields and free text, all optional."""

    name: str = ""
    role: str = ""
    languages: tuple[str, ...] = ()
    frameworks: tuple[str, ...] = ()
    style: str = ""
    """How answers are to be written: "short, with the command first"."""
    goals: str = ""
    domain: str = ""
    constraints: str = ""
    """What always holds: "Python 3.11, no new dependencies"."""
    preferences: Mapping[str, str] = field(default_factory=dict)
    about: str = ""
    """Free text."""

    def with_field(self, field: str, value: object) -> "Profile":
        """Return the same with another value of one field."""
        changed: dict[str, Any] = {field: value}
        return replace(self, **changed)


@dataclass(frozen=True, slots=True)
class Consent:
    """Whether the profile may be kept and used; ``since`` the last change, None: never asked."""

    given: bool
    since: datetime | None = None
    purpose: str = ""


@dataclass(frozen=True, slots=True)
class ConsentEvent:
    """A line of the audit log. It never holds what the profile says."""

    at: datetime
    action: ConsentAction
    purpose: str
