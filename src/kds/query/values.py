"""What goes into a query over documents and remembered conversations, and what comes out.

`as_dict` of each is its JSON form, which docs/query.md describes. A turn *hits* when what its
session remembered served it: a reference was resolved to something in the session's stored messages
or terms, or the document that earlier turns were about changed the first result.
"""

import hashlib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Final, Literal

from kds.api.measures import Figures, rounded, share
from kds.brain.memory.memory_store import Metric
from kds.brain.turn import UNKNOWN, Reference
from kds.transit.history import Message

Scope = Literal["all", "documents", "document", "memory", "conversation"]
"""Where to look: documents and remembered conversations; every document; the one that the user
looks at; every remembered conversation; the one at hand."""

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
    line: int | None = None
    """Of the file, where the passage begins."""
    origin: Literal["document", "conversation"] = "document"
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

    by: Literal["nobody", "rules", "model"] = "nobody"
    references: tuple[Reference, ...] = ()
    why: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class SessionTurn(Figures):
    """The session after the query: which turn it was (from 1), what it referred to, the latest
    first, and whether what it remembered served this turn."""

    id: str
    turn: int
    memory: tuple[str, ...] = ()
    hit: bool = False


@dataclass(frozen=True, slots=True)
class QueryReply(Figures):
    """All that a query comes to: what `POST /query` returns."""

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


def citations_of(chunks: tuple[Chunk, ...]) -> tuple[Citation, ...]:
    """The places that ``chunks`` come from, in the order in which they are first named.

    >>> [one.chunks for one in citations_of((Chunk("a", 1, 1, "x"), Chunk("b", 1, 1, "x")))]
    [(1, 2)]
    """
    found: dict[str, Citation] = {}
    for number, one in enumerate(chunks, start=1):
        blank = Citation(one.citation, one.document, one.section, one.page, ())
        place = found.get(one.citation, blank)
        found[one.citation] = replace(place, chunks=(*place.chunks, number))
    return tuple(found.values())


QUERY: Final = "query"
"""Name of the measurement, and of this surface in others."""

FROM_TURN: Final = 3
"""The first turn of a session that counts: before it there is little to remember."""


def query_metric(
    reply: QueryReply, session: SessionTurn, *, received: int = 0
) -> dict[str, object]:
    """The record of a question in a session: figures, never a word of it.

    The session's id is hashed: it only has to be the same for its next turn. ``received``
    messages of history came with the question.
    """
    return {
        "session": hashlib.sha256(session.id.encode(errors="surrogatepass")).hexdigest()[:12],
        "turn": session.turn,
        "hit": session.hit,
        "rewritten": reply.rewriting.by,
        "references": len(reply.rewriting.references),
        "received": received,
        "chunks": len(reply.chunks),
        "answered": reply.answer is not None,
        "failed": reply.answer_error is not None,
        "timings_ms": rounded(reply.timings_ms),
    }


def session_hits(metrics: Iterable[Metric]) -> dict[str, object]:
    """How often what sessions remembered served the questions among ``metrics``.

    ``turns`` are all questions in sessions; ``hit_rate``, the share of ``later_turns``, those from
    FROM_TURN on, is None before there are any.
    """
    rows = [metric.data for metric in metrics if metric.name == QUERY]
    turns = [(row.get("turn"), row.get("hit") is True) for row in rows]
    later = [hit for turn, hit in turns if isinstance(turn, int) and turn >= FROM_TURN]
    return {
        "sessions": len({row.get("session") for row in rows}),
        "turns": len(rows),
        "later_turns": len(later),
        "hits": sum(later),
        "hit_rate": share(later),
    }
