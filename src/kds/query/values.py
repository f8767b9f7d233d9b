"""What goes into a query over documents and remembered conversations, and what comes out.

Frozen values; `as_dict` of each is its JSON form, which docs/query.md describes.

A turn *hits* when what its session remembered served it: a reference was resolved to something
in the session's stored messages or terms, or the document that earlier turns were about changed
the first result. The *hit rate* is the share of such turns among those from the third on.
"""

import hashlib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Final, Literal

from kds.api.measures import Figures
from kds.brain.memory.memory_store import Metric
from kds.brain.turn import UNKNOWN, Reference
from kds.transit.history import Message

Scope = Literal["all", "documents", "document", "memory", "conversation"]
"""Where to look: documents and remembered conversations; every document; the one that the user
looks at; every remembered conversation; the one at hand."""

Origin = Literal["document", "conversation"]

RewrittenBy = Literal["nobody", "rules", "model"]

DEFAULT_LIMIT: Final = 8
"""Passages a query returns: what fits a prompt beside the question."""

MOST_CHUNKS: Final = 50


@dataclass(frozen=True, slots=True)
class Query:
    """A question, with what is known of its conversation."""

    text: str
    context: tuple[Message, ...] | None = None
    """What the client sent of the conversation, oldest first; None: it sent nothing."""
    session: str | None = None
    """The stored session that the question belongs to; it is begun when there is none."""
    source: str | None = None
    """Path of the document that the user looks at: its passages count 15 % more."""
    scope: Scope = "all"
    limit: int = DEFAULT_LIMIT
    answer: bool = True
    """Whether a model, where one is configured, is to answer from the passages."""


@dataclass(frozen=True, slots=True)
class Chunk(Figures):
    """A passage that was found. ``score`` compares within one origin only; ``bias`` is in it."""

    text: str
    score: float
    bias: float
    citation: str
    document: str | None = None
    """Title of the document; None for a passage of a conversation."""
    section: str | None = None
    page: int | None = None
    source_path: str | None = None
    """File of the document, and the line of it where the passage begins."""
    line: int | None = None
    origin: Origin = "document"
    session: str | None = None
    """Of a passage of a conversation: its session, and the message it is from."""
    message: str | None = None
    why: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Citation(Figures):
    """A place that passages come from, and the numbers (from 1) of those passages."""

    citation: str
    document: str | None
    section: str | None
    page: int | None
    chunks: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Rewriting(Figures):
    """Who made the question self-contained, what it referred to, and why it was taken so."""

    by: RewrittenBy = "nobody"
    references: tuple[Reference, ...] = ()
    why: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class SessionTurn(Figures):
    """The session after the query: which turn it was, and what it talks about now."""

    id: str
    turn: int
    """From 1: how many questions were asked in it, this one included."""
    memory: tuple[str, ...] = ()
    """What was referred to, the latest first."""
    hit: bool = False
    """Whether what the session remembered served this turn; see above."""


@dataclass(frozen=True, slots=True)
class QueryReply(Figures):
    """All that a query comes to."""

    query: str
    rewritten_query: str
    rewriting: Rewriting = Rewriting()
    intent: str = UNKNOWN
    chunks: tuple[Chunk, ...] = ()
    citations: tuple[Citation, ...] = ()
    answer: str | None = None
    answer_error: str | None = None
    """Why a model that was asked has not answered; its hint included."""
    model: str | None = None
    session: SessionTurn | None = None
    timings_ms: Mapping[str, float] = field(default_factory=dict)
    """Wall time of each stage; "total" is all of it, the model's time included."""
    warnings: tuple[str, ...] = ()

    def as_dict(self) -> dict[str, object]:
        """The JSON form: what `POST /query` returns."""
        timings = {stage: round(ms, 3) for stage, ms in self.timings_ms.items()}
        return {**Figures.as_dict(self), "timings_ms": timings}


def citations_of(chunks: tuple[Chunk, ...]) -> tuple[Citation, ...]:
    """The places that ``chunks`` come from, in the order in which they are first named.

    >>> [one.chunks for one in citations_of((Chunk("a", 1, 1, "x"), Chunk("b", 1, 1, "x")))]
    [(1, 2)]
    """
    numbers: dict[str, list[int]] = {}
    first: dict[str, Chunk] = {}
    for number, chunk in enumerate(chunks, start=1):
        first.setdefault(chunk.citation, chunk)
        numbers.setdefault(chunk.citation, []).append(number)
    return tuple(
        Citation(name, one.document, one.section, one.page, tuple(numbers[name]))
        for name, one in first.items()
    )


QUERY: Final = "query"
"""Name of the measurement, and of this surface in others."""

FROM_TURN: Final = 3
"""The first turn of a session that counts: before it there is little to remember."""


@dataclass(frozen=True, slots=True)
class SessionHits(Figures):
    """How often what sessions remembered was of use, in questions from FROM_TURN on.

    ``turns`` are all questions in sessions; ``hit_rate`` is None before turn 3.
    """

    sessions: int
    turns: int
    later_turns: int
    hits: int
    hit_rate: float | None


def query_metric(reply: QueryReply, *, received: int = 0) -> Mapping[str, object]:
    """Return the record of a question in a session: figures, never a word of it.

    The session's name is hashed: it only has to be the same for its next turn. ``received``
    messages of history came with the question.
    """
    assert reply.session is not None  # only sessions are measured
    name = reply.session.id.encode(errors="surrogatepass")
    return {
        "session": hashlib.sha256(name).hexdigest()[:12],
        "turn": reply.session.turn,
        "hit": reply.session.hit,
        "rewritten": reply.rewriting.by,
        "references": len(reply.rewriting.references),
        "received": received,
        "chunks": len(reply.chunks),
        "answered": reply.answer is not None,
        "failed": reply.answer_error is not None,
        "timings_ms": {stage: round(ms, 3) for stage, ms in reply.timings_ms.items()},
    }


def session_hits(metrics: Iterable[Metric]) -> SessionHits:
    """Work out the hit rate of the questions among ``metrics``."""
    rows = [metric.data for metric in metrics if metric.name == QUERY]
    turns = [(row.get("turn"), row.get("hit") is True) for row in rows]
    later = [hit for turn, hit in turns if isinstance(turn, int) and turn >= FROM_TURN]
    return SessionHits(
        sessions=len({row.get("session") for row in rows}),
        turns=len(rows),
        later_turns=len(later),
        hits=sum(later),
        hit_rate=sum(later) / len(later) if later else None,
    )
