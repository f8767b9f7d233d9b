"""What the conversation memory takes and gives beside passages, and how rows become it.

Times are aware datetimes in UTC. Tokens are counted by the store's counter (`tokens`).
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, fields, replace
from datetime import datetime
from typing import Any, Final, Literal, get_type_hints

from kds.brain.errors import StoreError
from kds.brain.passages.store import Row
from kds.brain.passages.values import EmbeddingModel, Message, Passage, Summary
from kds.brain.store.columns import from_micros, to_micros

ConsentAction = Literal["granted", "revoked", "changed", "used"]


REACH_TURNS: Final = 10
"""Turns back that a term still counts as something to refer to: as far as the context goes."""

COUNTED: Final[Mapping[str, bool]] = {"counted": True}
"""Marks a field of `Session` that the store works out itself: no export has it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Session:
    """One conversation, and the definition of one: each field is a column of both engines.

    Rows, exports, and the JSON of commands are read from these fields. To add one: a field with
    a default, and the column in both lists of migrations.
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

    @property
    def recent(self) -> tuple["EntityTerm", ...]:
        """The terms of the last REACH_TURNS turns, each once, the oldest first."""
        near = [one for one in self.terms if self.turn_count - one.turn < REACH_TURNS]
        return tuple({one.term.casefold(): one for one in reversed(near)}.values())


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


_SESSION: Final[Mapping[str, Any]] = get_type_hints(Session)
SESSION_COLUMNS: Final = ", ".join(f"session.{name}" for name in _SESSION)
EXPORTED: Final = tuple(one for one in fields(Session) if not one.metadata.get("counted"))
"""The fields of a session that are given to the store, and that an export has."""

MESSAGE_COLUMNS = "message.id, session.id, seq, role, content, message.at, message.tokens, speaker"
PASSAGE_COLUMNS = (
    "chunk.id, message.id, session.id, document_context, role, speaker, message.at, chunk.kind, "
    "header, substr(content, start + 1, length), idents, chunk.tokens"
)
WHOLE_COLUMNS = PASSAGE_COLUMNS.replace("substr(content, start + 1, length)", "content").replace(
    "chunk.tokens", "message.tokens"
)
"""Of the message in the place of its passage."""

PASSAGE_TABLES = (
    "chunk JOIN message ON message.num = chunk.message_num "
    "JOIN session ON session.num = message.session_num"
)
SUMMARY_COLUMNS = (
    "summary.num, session.id, first_seq, last_seq, summary.text, summary.at, summary.kind"
)


def session_of(row: Row) -> Session:
    """Read SESSION_COLUMNS; "(damaged)" stands for what should be text and is not."""
    named = zip(_SESSION.items(), row, strict=True)
    return Session(**{name: _from_column(kind, value) for (name, kind), value in named})


def session_row(session: Session) -> dict[str, object]:
    """Return the EXPORTED fields of a session as its columns hold them."""
    return {one.name: _to_column(getattr(session, one.name)) for one in EXPORTED}


def _from_column(kind: Any, value: Any) -> Any:
    if kind is str and not isinstance(value, str):
        return "(damaged)"
    if value is None or kind not in (datetime, datetime | None, bool):
        return value
    return bool(value) if kind is bool else from_micros(value)


def _to_column(value: Any) -> Any:
    if isinstance(value, datetime):
        return to_micros(value)
    return int(value) if isinstance(value, bool) else value


def message_of(row: Row) -> Message:
    """Read MESSAGE_COLUMNS; the details may stand behind them. Raises StoreError when damaged."""
    message_id, session_id, seq, role, content, at, *rest = row
    if not isinstance(content, str):
        raise StoreError(
            f"message {seq} is damaged: it is not text",
            where=f"session {session_id!r}",
            hint="kds memory delete removes the session; a copy of memory.db brings it back",
        )
    return Message(message_id, session_id, seq, role, content, from_micros(at), *rest)


def passage_of(row: Row) -> Passage:
    """Read PASSAGE_COLUMNS. The body of a damaged message is empty."""
    chunk_id, message_id, session_id, document, role, speaker, at, kind, header, body, *rest = row
    said = body if isinstance(body, str) else ""
    about = message_id, session_id, document, role, speaker, from_micros(at)
    return Passage(chunk_id, *about, kind, header, said, *rest)


def summary_of(row: Row) -> Summary:
    """Read SUMMARY_COLUMNS."""
    number, session_id, first, last, text, at, kind = row
    return Summary(number, session_id, first, last, text, from_micros(at), kind)
