"""What is measured of a question in a session, and the session memory's hit rate out of it.

A turn *hits* when what its session remembered served it: a reference was resolved to something
out of the session's stored messages or terms, or the document that earlier turns were about
changed what came back first. The *hit rate* is the share of such turns among those from the
third on, in sessions: the first has nothing to remember, the second little.
"""

import hashlib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Final

from kds.api.measures import Figures
from kds.brain.memory.records import Metric
from kds.query.values import QueryReply

QUERY: Final = "query"
"""Name of the measurement."""

FROM_TURN: Final = 3
"""The first turn of a session that counts (issue 6)."""


@dataclass(frozen=True, slots=True)
class SessionHits(Figures):
    """How often what sessions remembered was of use; ``hit_rate`` is None before turn 3."""

    sessions: int
    turns: int
    """All questions in sessions."""
    later_turns: int
    """Those from FROM_TURN on."""
    hits: int
    """Those of the later ones that the session's memory served."""
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
    later = [row for row in rows if _turn(row) >= FROM_TURN]
    hits = sum(row.get("hit") is True for row in later)
    return SessionHits(
        sessions=len({row.get("session") for row in rows}),
        turns=len(rows),
        later_turns=len(later),
        hits=hits,
        hit_rate=hits / len(later) if later else None,
    )


def _turn(row: Mapping[str, Any]) -> int:
    turn = row.get("turn")
    return turn if isinstance(turn, int) else 0
