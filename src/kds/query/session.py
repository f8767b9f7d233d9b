"""What a stored session remembers for its next question, and how often that was of use.

A turn *hits* when what its session remembered served it: a reference was resolved to something
in the session's stored messages or terms, or the document that earlier turns were about changed
the first result. The *hit rate* is the share of such turns among those from the third on, in
sessions: the first has nothing to remember, the second little.
"""

import hashlib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Final

from kds.api.measures import Figures
from kds.brain.errors import MessageError
from kds.brain.memory.memory import ConversationMemory
from kds.brain.memory.records import EntityMemory, Metric
from kds.brain.memory.sessions import ID_LIMIT
from kds.brain.memory.window import TURNS as VERBATIM
from kds.brain.memory.window import turns_of
from kds.query.reading import within_contract
from kds.query.values import QueryReply
from kds.transit.history import Message

A_TURN: Final = 3
"""Messages that are read for each turn of a session: two, and some that tools added."""

TERMS_SHOWN: Final = 10
"""Terms of a session that a reply names, the latest first."""


@dataclass(frozen=True, slots=True)
class Recollection:
    """What a session knew when a question came."""

    session: str
    turn: int
    """Of the question: 1 when it is the first."""
    messages: tuple[Message, ...] = ()
    """Within the contract of `kds.transit`."""
    message_ids: frozenset[str] = frozenset()
    """Of the last turns: they go to the model word for word, a recall leaves them out."""
    asked: str | None = None
    """Of the question, once it is stored."""
    terms: tuple[str, ...] = ()
    """What the last turns referred to, the oldest first."""
    documents: tuple[str, ...] = ()
    """Paths of what the last question was answered from, the best first."""
    about: tuple[str, ...] = ()
    """Documents that the session was said to be about."""


RESERVED: Final = ("export", "messages")
"""What the last part of an id cannot be: `/sessions/ID/export` would mean two things."""


def checked_session(session: str) -> str:
    """Return an id that a client chose for a session. Raises MessageError when it cannot be one.

    It is part of a path: `/sessions/ID`, in which it must stay what it is.
    """
    parts = checked_id(session).split("/")
    if "" in parts or "." in parts or ".." in parts or (len(parts) > 1 and parts[-1] in RESERVED):
        raise MessageError(
            "this cannot be the id of a session: nothing could be found under it",
            where="session_id",
            hint="use no empty part, '.' or '..' beside a '/', nor '/export' or '/messages' "
            "at the end",
        )
    return session


def checked_id(session: str) -> str:
    """Return an id that a client chose. Raises MessageError when it cannot be one."""
    if 0 < len(session) <= ID_LIMIT and session.isprintable() and session == session.strip():
        return session
    raise MessageError(
        "this cannot be the id of a session",
        where="session_id",
        hint=f"use 1 to {ID_LIMIT} printable characters, without blanks at the ends",
    )


def recollect(
    memory: ConversationMemory, session: str, *, begins: bool = True
) -> Recollection | None:
    """Return what ``session`` remembers. One that is not there is begun, or (without ``begins``)
    None. Raises StoreError.
    """
    stored = memory.begin(session) if begins else memory.store.find_session(session)
    if stored is None:
        return None
    turns = memory.flags.history_max_turns
    read = memory.store.messages(stored.id, last=A_TURN * turns)
    sent = tuple(turns_of(read))[-VERBATIM:]
    known = _known(memory, session)
    said = (Message(one.role, one.content) for one in read if one.role in ("user", "assistant"))
    return Recollection(
        session=stored.id,
        turn=memory.store.count_questions(stored.id) + 1,
        messages=within_contract(said, turns=turns),
        message_ids=frozenset(one.id for turn in sent for one in turn),
        terms=_recent_terms(known),
        documents=known.documents if known else (),
        about=stored.documents,
    )


def shown_terms(memory: ConversationMemory, session: str) -> tuple[str, ...]:
    """Return what a session talks about now, the latest first."""
    known = _known(memory, session)
    return tuple(reversed(_recent_terms(known)))[:TERMS_SHOWN]


def _known(memory: ConversationMemory, session: str) -> EntityMemory | None:
    flags = memory.flags
    if not flags.enable_session_memory:
        return None
    return memory.store.entities.load(session, ttl=flags.ttl)


def _recent_terms(known: EntityMemory | None) -> tuple[str, ...]:
    """The terms of the last turns, the oldest first, each once."""
    return tuple(one.term for one in known.recent) if known else ()


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
