"""What goes over the wire for `POST /query`; docs/query.md says which keys are guaranteed."""

from typing import Annotated, Any, Final, Literal

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field

from kds.brain.sessions.session_table import ID_LIMIT
from kds.query.values import DEFAULT_LIMIT, MOST_CHUNKS, Query, RewrittenBy, Scope
from kds.service.schemas import MESSAGE_LIMIT, PATH_LIMIT, ReferenceReply
from kds.transit.history import Message

MOST_MESSAGES: Final = 1000
"""Messages of a context. Ten turns count; a client that sends its whole history is not refused."""


def _whole(number: object) -> object:
    """To JSON Schema 8.0 is an integer; to pydantic, strict as it is here, it is none."""
    return int(number) if isinstance(number, float) and number.is_integer() else number


class _Request(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True, frozen=True)


class ContextMessage(_Request):
    """Something that was said before the question."""

    role: Literal["user", "assistant"]
    content: str = Field(max_length=MESSAGE_LIMIT)


class QueryRequest(_Request):
    """A question. Only ``query`` is needed."""

    model_config = ConfigDict(
        json_schema_extra={
            "examples": [
                {"query": "What is the Determination Date?"},
                {
                    "query": "And what happens if it falls on a weekend?",
                    "conversation_context": [
                        {"role": "user", "content": "What is the Determination Date?"},
                        {"role": "assistant", "content": "The 11th day of each month."},
                    ],
                    "source_path": "contracts/servicing-agreement.md",
                },
                {"query": "So which comes first?", "session_id": "maple-street", "answer": False},
            ]
        }
    )

    query: str = Field(
        min_length=1,
        max_length=MESSAGE_LIMIT,
        description="The question, as the user wrote it.",
        examples=["And what happens if it falls on a weekend?"],
    )
    conversation_context: list[ContextMessage] | None = Field(
        default=None,
        max_length=MOST_MESSAGES,
        description="What was said before, oldest first. The last ten turns count, of each reply "
        "its first 500 characters, of all of it 2,000 tokens.",
    )
    session_id: str | None = Field(
        default=None,
        min_length=1,
        max_length=ID_LIMIT,
        description="A stored session, begun when there is none: what was said in it stands in "
        "for a context that is not sent, and the question is remembered there.",
        examples=["maple-street"],
    )
    source_path: str | None = Field(
        default=None,
        min_length=1,
        max_length=PATH_LIMIT,
        description="The document that the user looks at: its passages count 15 % more.",
        examples=["contracts/servicing-agreement.md"],
    )
    scope: Scope = Field(
        default="all",
        description="`documents`: every document; `document`: that of `source_path` alone; "
        "`memory`: remembered conversations; `conversation`: that of `session_id` alone; "
        "`all`: documents, and conversations at the end of the list.",
    )
    limit: Annotated[int, BeforeValidator(_whole)] = Field(
        default=DEFAULT_LIMIT, ge=1, le=MOST_CHUNKS, description="Most passages."
    )
    answer: bool = Field(
        default=True, description="Let a model answer from the passages, where one is configured."
    )
    workspace: str | None = Field(
        default=None,
        min_length=1,
        max_length=PATH_LIMIT,
        description="Root of one of the served workspaces.",
    )

    def query_value(self) -> Query:
        """The question as the service takes it."""
        sent = self.conversation_context
        context = None if sent is None else tuple(Message(one.role, one.content) for one in sent)
        return Query(
            text=self.query,
            context=context,
            session=self.session_id,
            source=self.source_path,
            scope=self.scope,
            limit=self.limit,
            answer=self.answer,
        )


class ChunkReply(BaseModel):
    """A passage that was found."""

    text: str
    score: float = Field(description="Compares within one origin; the best is about 1.")
    bias: float = Field(description="What the score was multiplied with for its document.")
    citation: str
    document: str | None = Field(description="Title; null: it is from a conversation.")
    section: str | None
    page: int | None
    source_path: str | None
    line: int | None = Field(description="Of the file, where the passage begins.")
    origin: Literal["document", "conversation"]
    session: str | None
    message: str | None
    why: list[str]


class CitationReply(BaseModel):
    """A place that passages come from."""

    citation: str
    document: str | None
    section: str | None
    page: int | None
    chunks: list[int] = Field(description="Numbers of its passages in `chunks`, from 1.")


class RewritingReply(BaseModel):
    """How the question was made self-contained."""

    by: RewrittenBy
    references: list[ReferenceReply]
    why: list[str]


class SessionTurnReply(BaseModel):
    """The session after the question."""

    id: str
    turn: int = Field(description="Of this question, from 1.")
    memory: list[str] = Field(description="What the session refers to, the latest first.")
    hit: bool = Field(description="Whether what the session remembered served this turn.")


class QueryReplyBody(BaseModel):
    """What a question comes to. Every key is there in every reply."""

    query: str
    rewritten_query: str
    rewriting: RewritingReply
    intent: str
    chunks: list[ChunkReply]
    citations: list[CitationReply]
    answer: str | None = Field(description="null: no model is configured, asked for, or answers.")
    answer_error: str | None = Field(description="Why a model that was asked has not answered.")
    model: str | None = Field(description="Which model answered.")
    session: SessionTurnReply | None = Field(description="null: no `session_id` was sent.")
    timings_ms: dict[str, float]
    warnings: list[str]


EXAMPLE_REPLY: Final[dict[str, Any]] = {
    "query": "And what happens if it falls on a weekend?",
    "rewritten_query": "And what happens if the Determination Date falls on a weekend?",
    "rewriting": {
        "by": "rules",
        "references": [
            {
                "text": "it", "start": 20, "end": 22, "target": "Determination Date",
                "rule": "pron.it", "score": 0.91,
            }
        ],
        "why": ["'it' -> 'Determination Date' (pron.it, 1 turn ago)"],
    },
    "intent": "ASK",
    "chunks": [
        {
            "text": "If the Determination Date is not a Business Day, it is the next one.",
            "score": 1.1, "bias": 1.15,
            "citation": "Servicing Agreement, Section 1.01 Definitions > Determination Date (p. 3)",
            "document": "Servicing Agreement", "section": "1.01 Definitions", "page": 3,
            "source_path": "/home/me/contracts/servicing-agreement.md", "line": 41,
            "origin": "document", "session": None, "message": None,
            "why": ["defines 'Determination Date'"],
        }
    ],
    "citations": [
        {
            "citation": "Servicing Agreement, Section 1.01 Definitions > Determination Date (p. 3)",
            "document": "Servicing Agreement", "section": "1.01 Definitions", "page": 3,
            "chunks": [1],
        }
    ],
    "answer": "On the next Business Day [1].", "answer_error": None, "model": "gpt-5-mini",
    "session": {
        "id": "maple-street", "turn": 2, "memory": ["Determination Date"], "hit": True,
    },
    "timings_ms": {"session": 2.4, "rewriting": 4.1, "retrieval": 6.0, "memory": 2.2, "total": 15},
    "warnings": [],
}  # fmt: skip
"""Shown in /openapi.json, where FastAPI leaves out what is null."""
