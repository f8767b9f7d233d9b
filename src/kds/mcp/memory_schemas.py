"""What the memory tools return, as JSON schema; see `schemas` for why all of it stands here."""

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Annotated, Literal

from pydantic import AliasChoices, AliasPath, BeforeValidator, Field

from kds.brain.clock import moment
from kds.brain.passages.recalled import Hit, Recall
from kds.brain.passages.values import ChunkKind, Role
from kds.brain.sessions.session_values import Session
from kds.service.models import HitScores, Reply, Rounded

Format = Literal["markdown", "json"]


def _second(at: datetime | str) -> str:
    return at if isinstance(at, str) else moment(at)  # the SDK reads again what was written


Second = Annotated[str, BeforeValidator(_second), Field(description="ISO 8601, UTC.")]
"""A moment to the second: `2025-11-03T09:00:00Z`."""


class RecalledPassage(Reply):
    """A part of a message that answers the question, and where it was said."""

    text: str = Field(validation_alias=AliasPath("passage", "body"))
    session: str = Field(
        validation_alias=AliasPath("passage", "session_id"),
        description="The id of its session, for session_export.",
    )
    title: str = ""
    message: str = Field(validation_alias=AliasPath("passage", "message_id"))
    role: Role = Field(validation_alias=AliasPath("passage", "role"))
    speaker: str | None = Field(validation_alias=AliasPath("passage", "speaker"))
    at: Second = Field(validation_alias=AliasPath("passage", "at"))
    kind: ChunkKind = Field(validation_alias=AliasPath("passage", "kind"))
    score: Rounded
    scores: HitScores = Field(validation_alias=AliasChoices("scores", "parts"))
    elsewhere: bool
    """Of another session than the one asked about."""
    why: list[str]

    @classmethod
    def of(cls, hit: Hit, session: Session | None) -> "RecalledPassage":
        """Take what a recall found."""
        return cls.model_validate(hit).model_copy(
            update={"title": session.title if session else ""}
        )


class MemoryHits(Reply):
    """What past conversations say about a question, the best first."""

    query: str
    hits: list[RecalledPassage]
    profile: list[str] = Field(
        default=[], description="What the user's own profile says, by their consent."
    )
    summaries: list[str] = Field(description="Summaries of the session asked about.")
    notes: list[str] = Field(description="What to know about this search.")

    @classmethod
    def of(
        cls,
        query: str,
        found: Recall,
        sessions: Mapping[str, Session],
        profile: Sequence[str] = (),
    ) -> "MemoryHits":
        """Take a whole recall."""
        return cls(
            query=query,
            profile=list(profile),
            hits=[
                RecalledPassage.of(hit, sessions.get(hit.passage.session_id)) for hit in found.hits
            ],
            summaries=[summary.text for summary, _ in found.summaries],
            notes=list(found.notes),
        )


class ListedSession(Reply):
    """A session: when it was held, and how long it is."""

    id: str
    title: str
    created_at: Second
    updated_at: Second
    document_context: str | None
    messages: int = Field(validation_alias=AliasChoices("messages", "message_count"))
    tokens: int = Field(validation_alias=AliasChoices("tokens", "token_count"))


class SessionList(Reply):
    """Sessions, the one changed last first."""

    sessions: list[ListedSession]
    next_offset: int | None = Field(description="Ask from there for more; null: these are all.")


class ExportedSession(Reply):
    """A session written out, or a part of it."""

    id: str
    title: str
    format: Format
    content: str
    characters: int = Field(description="Of the whole export.")
    next_offset: int | None = Field(description="Ask from there for the rest; null: that is all.")
