"""What goes over the wire for sessions; requests are strict, as in `schemas`."""

from datetime import datetime
from typing import Annotated, Final, Literal, Self

from fastapi import Path, Query
from pydantic import AfterValidator, AwareDatetime, BaseModel, ConfigDict, Field

from kds.brain.database.instant import within_reach
from kds.brain.passages.values import Message, Role
from kds.brain.sessions.session_table import ID_LIMIT, TITLE_LIMIT
from kds.brain.sessions.session_values import Session
from kds.service.health import as_text
from kds.service.schemas import MESSAGE_LIMIT, PATH_LIMIT, TEXT_LIMIT

MOST: Final = 200
"""Sessions or messages of one page."""

ExportFormat = Literal["json", "markdown"]

SessionPath = Annotated[
    str,
    Path(max_length=ID_LIMIT, description="Id of a session.", examples=["export-20251103"]),
]
LimitQuery = Annotated[int, Query(ge=1, le=MOST, description="Most entries of a page.")]
OffsetQuery = Annotated[int, Query(ge=0, le=2**31, description="Entries to skip.")]

_TITLE = Field(
    default=None,
    min_length=1,
    max_length=TITLE_LIMIT,
    description="Without one the beginning of the first question serves.",
    examples=["Closing of the Maple Street deal"],
)
_DOCUMENT = Field(
    default=None,
    max_length=PATH_LIMIT,
    description="Path of the document that the session is about; null: none.",
    examples=["contracts/servicing-agreement.md"],
)
_WORKSPACE = Field(
    default=None,
    min_length=1,
    max_length=PATH_LIMIT,
    description="Root of one of the served workspaces.",
)


class _Request(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True, frozen=True)


class NewSession(_Request):
    """A session to begin."""

    id: str | None = Field(
        default=None,
        min_length=1,
        max_length=ID_LIMIT,
        description="Printable characters, no blanks at the ends, nor `/export` or `/messages`"
        " at the end; null: a random one.",
        examples=["export-20251103"],
    )
    title: str | None = _TITLE
    document: str | None = _DOCUMENT
    workspace: str | None = _WORKSPACE


class SessionChange(_Request):
    """What is to change of a session; what is left out stays."""

    title: str | None = _TITLE
    document: str | None = _DOCUMENT
    workspace: str | None = _WORKSPACE


class NewMessage(_Request):
    """A message to store."""

    role: Role = Field(examples=["user"])
    content: str = Field(
        min_length=1, max_length=MESSAGE_LIMIT, examples=["What is the Determination Date?"]
    )
    speaker: str | None = Field(
        default=None, min_length=1, max_length=TEXT_LIMIT, description="Who of several it was."
    )
    at: Annotated[AwareDatetime, AfterValidator(within_reach)] | None = Field(
        default=None, strict=False, description="When it was said, year 2 to 9998; null: now."
    )
    id: str | None = Field(
        default=None,
        min_length=1,
        max_length=ID_LIMIT,
        description="With an id of yours a message that is sent twice is stored once.",
    )
    workspace: str | None = _WORKSPACE


class SessionReply(BaseModel):
    """A session, without what was said in it."""

    id: str
    title: str
    document: str | None
    created_at: str = Field(description="ISO 8601, UTC.")
    updated_at: str
    messages: int
    tokens: int

    @classmethod
    def of(cls, session: Session) -> Self:
        """Take what is stored."""
        return cls(
            id=session.id,
            title=session.title,
            document=session.document_context,
            created_at=as_text(session.created_at),
            updated_at=as_text(session.updated_at),
            messages=session.message_count,
            tokens=session.token_count,
        )


class SavedSession(SessionReply):
    """A session that was begun or changed."""

    warnings: list[str] = Field(description="Such as: the document is not in the store.")


class SessionsReply(BaseModel):
    """Sessions, the one changed last first."""

    sessions: list[SessionReply]
    next_offset: int | None = Field(description="Where the next page begins; null: that is all.")


class MessageReply(BaseModel):
    """A message as it was stored: secrets are replaced by marks."""

    id: str
    seq: int = Field(description="Position in the session, from 1.")
    role: Role
    speaker: str | None
    content: str
    at: str
    tokens: int

    @classmethod
    def of(cls, message: Message) -> Self:
        """Take what is stored."""
        return cls(
            id=message.id,
            seq=message.seq,
            role=message.role,
            speaker=message.speaker,
            content=message.content,
            at=as_text(message.at),
            tokens=message.tokens,
        )


class SessionPage(SessionReply):
    """A session with a page of its messages, oldest first."""

    page: list[MessageReply]
    next_offset: int | None = Field(description="Where the next page begins; null: that is all.")


class DeletedReply(BaseModel):
    """What is gone, with its bytes in the file."""

    deleted: str


class ExportedMessage(BaseModel):
    """A message in an export."""

    id: str
    role: Role
    speaker: str | None
    content: str
    at: datetime


class ExportedSummary(BaseModel):
    """A summary in an export."""

    first_seq: int
    last_seq: int
    text: str
    at: datetime
    kind: Literal["rolling", "periodic"]


class ExportedSession(BaseModel):
    """A session in an export."""

    id: str
    title: str
    created_at: datetime
    updated_at: datetime
    document_context: str | None
    messages: list[ExportedMessage]
    summaries: list[ExportedSummary]


class ExportReply(BaseModel):
    """What `kds memory import` reads."""

    kds_memory: Literal[1]
    sessions: list[ExportedSession]
