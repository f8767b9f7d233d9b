"""Measures follow-up questions about documents: is each understood, and is its answer found?

Every conversation is put to the query service as its clients do: a session, the document in view,
all documents searched. Beside it stands the same question searched as it was typed.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from time import process_time
from typing import Final

from kds.api.measures import Figures, mean, percentile, share
from kds.api.same_text import matches
from kds.brain.documents.document_values import Section
from kds.brain.errors import Problem
from kds.evaluation.followup_data import Place, Question, Talk, plain
from kds.query.metric import FROM_TURN
from kds.query.query_service import QueryService
from kds.query.values import Chunk, Query, QueryReply

DEPTH: Final = 10
"""Passages that are asked for."""

CUTOFFS: Final = (1, 3, 5)


@dataclass(frozen=True, slots=True)
class Asked:
    """A question with what became of it; ``typed`` is what its bare words find."""

    talk: str
    turn: int
    """In its conversation, from 1."""
    question: Question
    reply: QueryReply
    typed: tuple[Chunk, ...]
    cpu_ms: float
    """Of the process, for the whole query."""

    @property
    def resolved(self) -> bool:
        """Whether the question was rewritten to something that stands alone and means the same."""
        return self.question.resolved(self.reply.rewritten_query)

    @property
    def kept(self) -> bool:
        """Whether the question came back as it was."""
        return matches(self.reply.rewritten_query, [self.question.user])

    def recall(self, depth: int, *, typed: bool = False) -> float:
        """Share of what answers the question among the first ``depth`` passages."""
        chunks = (self.typed if typed else self.reply.chunks)[:depth]
        if self.question.find:
            return float(any(_found(place, chunks) for place in self.question.find))
        return mean(float(_found(place, chunks)) for place in self.question.find_all) or 0.0


@dataclass(frozen=True, slots=True)
class Recalls:
    """Mean "recall@3" and so on; None where no question says where its answer stands."""

    rewritten: Mapping[str, float | None]
    typed: Mapping[str, float | None]


@dataclass(frozen=True, slots=True)
class FollowUpScore(Figures):
    """How a set of conversations came out; shares in [0, 1], None where nothing counts."""

    talks: int
    questions: int
    follow_ups: int
    resolved: float | None
    """Of the follow-ups."""
    exact: float | None
    """Of the follow-ups: rewritten to one of the accepted wordings."""
    kept: float | None
    """Of the questions that stand alone."""
    of_follow_ups: Recalls
    of_others: Recalls
    session_hits: float | None
    """Of the turns from the third on: the session's memory served."""
    ms_p50: float
    """CPU of a query: reading, retrieval, memory."""
    ms_p95: float


def ask_all(service: QueryService, talk: Talk) -> Iterable[Asked]:
    """Put the questions of ``talk`` to ``service``, in a session of its own."""
    for turn, question in enumerate(talk.turns, start=1):
        query = Query(
            question.user,
            session=talk.id,
            source=str(talk.path.resolve()),
            scope="documents",
            limit=DEPTH,
            answer=False,
        )
        started = process_time()
        reply = service.ask(query)
        cpu_ms = (process_time() - started) * 1000.0
        bare = replace(query, session=None, context=())
        typed = service.search(service.understand(bare, remembers=False)).findings.chunks
        yield Asked(talk.id, turn, question, reply, typed, cpu_ms)


def unknown_places(talk: Talk, sections: Sequence[Section]) -> Iterable[Problem]:
    """Name the places of ``talk`` that are nowhere in its document."""
    for question in talk.turns:
        for place in (*question.find, *question.find_all):
            headed = [one for one in sections if _heads(place, one.path[-1] if one.path else "")]
            if not any(plain(place.contains) in plain(one.text) for one in headed):
                said = f"has '{place.contains}'" if headed else "has a heading that begins so"
                yield Problem(
                    place.where,
                    f"no section '{place.section}' of {talk.path.name} {said}",
                    f"see `kds docs show {talk.path.name}` after `kds docs add`",
                )


def score_follow_ups(asked: Sequence[Asked]) -> FollowUpScore:
    """Add up what `kds eval follow-ups` reports."""
    following = [one for one in asked if one.question.follows_up]
    others = [one for one in asked if not one.question.follows_up]
    times = [one.cpu_ms for one in asked]
    later = [one.reply.session for one in asked if one.turn >= FROM_TURN]
    return FollowUpScore(
        talks=len({one.talk for one in asked}),
        questions=len(asked),
        follow_ups=len(following),
        resolved=share(one.resolved for one in following),
        exact=share(matches(one.reply.rewritten_query, one.question.expanded) for one in following),
        kept=share(one.kept for one in others),
        of_follow_ups=_recalls(following),
        of_others=_recalls(others),
        session_hits=share(session is not None and session.hit for session in later),
        ms_p50=percentile(times, 50),
        ms_p95=percentile(times, 95),
    )


def _recalls(asked: Iterable[Asked]) -> Recalls:
    counted = [one for one in asked if one.question.has_places]
    return Recalls(
        *(
            {
                f"recall@{depth}": mean(one.recall(depth, typed=typed) for one in counted)
                for depth in CUTOFFS
            }
            for typed in (False, True)
        ),
    )


def _found(place: Place, chunks: Iterable[Chunk]) -> bool:
    words = plain(place.contains)
    return any(
        _heads(place, chunk.section or "") and words in plain(chunk.text) for chunk in chunks
    )


def _heads(place: Place, heading: str) -> bool:
    return f"{plain(heading)} ".startswith(f"{plain(place.section)} ")
