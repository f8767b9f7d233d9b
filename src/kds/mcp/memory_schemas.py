"""What the memory tools return, as JSON schema; see `schemas` for why all of it stands here."""

from collections.abc import Mapping
from datetime import datetime
from typing import Literal

from pydantic import BaseModel, ConfigDict, Field

from kds.brain.passages.recalled import Hit, Recall
from kds.brain.passages.values import Role
from kds.brain.sessions.session_values import Session

Format = Literal["markdown", "json"]


class _Result(BaseModel):
    model_config = ConfigDict(frozen=True)


class SourceScores(_Result):
    """What each search gave a passage, 0 to 1; null: it has nothing to say of it."""

    dense: float | None
    lexical: float
    code: float


class RecalledPassage(_Result):
    """A part of a message that answers the question, and where it was said."""

    text: str
    session: str = Field(description="The id of its session, for session_export.")
    title: str
    message: str
    role: Role
    speaker: str | None
    at: str = Field(description="ISO 8601, UTC.")
    kind: Literal["prose", "code"]
    score: float
    scores: SourceScores
    elsewhere: bool = Field(description="Of another session than the one asked about.")
    why: list[str]

    @classmethod
    def of(cls, hit: Hit, session: Session | None) -> "RecalledPassage":
        """Take what a recall found."""
        passage = hit.passage
        return cls(
            text=passage.body,
            session=passage.session_id,
            title=session.title if session else "",
            message=passage.message_id,
            role=passage.role,
            speaker=passage.speaker,
            at=moment(passage.at),
            kind=passage.kind,
            score=round(hit.score, 4),
            scores=SourceScores(
                dense=None if hit.parts.dense is None else round(hit.parts.dense, 4),
                lexical=round(hit.parts.lexical, 4),
                code=round(hit.parts.code, 4),
            ),
            elsewhere=hit.elsewhere,
            why=list(hit.why),
        )


class MemoryHits(_Result):
    """What past conversations say about a question, the best first."""

    query: str
    hits: list[RecalledPassage]
    summaries: list[str] = Field(description="Summaries of the session asked about.")
    notes: list[str] = Field(description="What to know about this search.")

    @classmethod
    def of(cls, query: str, found: Recall, sessions: Mapping[str, Session]) -> "MemoryHits":
        """Take a whole recall."""
        return cls(
            query=query,
            hits=[
                RecalledPassage.of(hit, sessions.get(hit.passage.session_id)) for hit in found.hits
            ],
            summaries=[summary.text for summary, _ in found.summaries],
            notes=list(found.notes),
        )


class ListedSession(_Result):
    """A session: when it was held, and how long it is."""

    id: str
    title: str
    created_at: str
    updated_at: str
    document_context: str | None
    messages: int
    tokens: int

    @classmethod
    def of(cls, session: Session) -> "ListedSession":
        """Take what is stored of a session."""
        return cls(
            id=session.id,
            title=session.title,
            created_at=moment(session.created_at),
            updated_at=moment(session.updated_at),
            document_context=session.document_context,
            messages=session.message_count,
            tokens=session.token_count,
        )


class SessionList(_Result):
    """Sessions, the one changed last first."""

    sessions: list[ListedSession]
    next_offset: int | None = Field(description="Ask from there for more; null: these are all.")


class ExportedSession(_Result):
    """A session written out, or a part of it."""

    id: str
    title: str
    format: Format
    content: str
    characters: int = Field(description="Of the whole export.")
    next_offset: int | None = Field(description="Ask from there for the rest; null: that is all.")


def moment(at: datetime) -> str:
    """A UTC moment to the second: `2025-11-03T09:00:00Z`."""
    return at.isoformat(timespec="seconds").replace("+00:00", "Z")
