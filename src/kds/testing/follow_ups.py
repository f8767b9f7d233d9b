"""Measures follow-up questions about documents: is each understood, and is its answer found?

Every conversation is put to the query service as its clients do: a session, the document in view,
all documents searched. Beside it stands the same question searched as it was typed.
docs/evaluation.md has the form of the file. A turn with `expanded` is a follow-up: it needs what
was said before. A turn without it stands alone, and must come back unchanged.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Annotated, Final

from pydantic import BeforeValidator, Field, RootModel, model_validator

from kds.api.measures import mean, percentile, rounded, share, timed
from kds.api.rehearsal import matches
from kds.query.service import QueryService
from kds.query.values import FROM_TURN, Chunk, Query, QueryReply
from kds.testing.example_files import Row, Strict, Text, Texts, listed, read_yaml

DEPTH: Final = 10
"""Passages that are asked for."""

CUTOFFS: Final = (1, 3, 5)


class Place(Strict):
    """A passage: how the heading of its section begins, and some words of it ("": any)."""

    section: Text
    contains: str = ""


_Places = Annotated[tuple[Place, ...], BeforeValidator(listed)]


class Question(Strict):
    """One turn: the question, how it reads on its own, and where the answer is.

    ``refers_to`` are names that a self-contained wording contains. Any one of ``find`` answers
    the question; or it takes all of ``find_all``.
    """

    user: Text
    expanded: Texts = ()
    refers_to: Texts = ()
    find: _Places = ()
    find_all: _Places = ()
    note: str = ""

    @property
    def places(self) -> tuple[Place, ...]:
        """All places that are named."""
        return self.find + self.find_all

    def resolved(self, text: str) -> bool:
        """Tell whether ``text`` says on its own what the turn means.

        It is one of the accepted wordings, or it names everything that the turn refers to.
        """
        if matches(text, self.expanded):
            return True
        said = f" {plain(text)} "
        return bool(self.refers_to) and all(f" {plain(name)}" in said for name in self.refers_to)

    @model_validator(mode="after")
    def _consistent(self) -> "Question":
        if self.find and self.find_all:
            raise ValueError("has both 'find' and 'find_all': keep one")
        if self.refers_to and not self.expanded:
            raise ValueError("has 'refers_to' but no 'expanded': add how it reads on its own")
        return self


class Talk(Strict):
    """A conversation about one document."""

    id: Text
    document: Text
    turns: Annotated[list[Question], Field(min_length=1)]
    note: str = ""

    @property
    def path(self) -> Path:
        """Where the document is."""
        return Path(self.where).parent / self.document


def plain(text: str) -> str:
    """``text`` in lower case, without articles, punctuation and markup, for comparing.

    >>> plain("The **Closing Date** means April 28, 2021.")
    'closing date means april 28 2021'
    """
    words = "".join(sign if sign.isalnum() or sign in "&%$€£" else " " for sign in text.lower())
    return " ".join(word for word in words.split() if word not in ("a", "an", "the"))


def read_follow_ups(path: Path) -> tuple[Talk, ...]:
    """Read a follow-up file, YAML. Raises ExampleFileError with all its problems."""
    found, _ = read_yaml(path, RootModel[list[Talk]])
    return tuple(talk.placed(str(path)) for talk in found.root)


@dataclass(frozen=True, slots=True)
class Asked:
    """A question with its reply; ``typed`` is what its bare words find.

    ``turn`` counts from 1. ``cpu_ms`` is that of the process, for the whole query.
    """

    talk: str
    turn: int
    question: Question
    reply: QueryReply
    typed: tuple[Chunk, ...]
    cpu_ms: float

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
        found = [_is_in(chunks, place) for place in self.question.places]
        return float(any(found)) if self.question.find else share(found) or 0.0


def ask_all(service: QueryService, talk: Talk) -> Iterator[Asked]:
    """Put the questions of ``talk`` to ``service``, in a session of its own."""
    for turn, question in enumerate(talk.turns, start=1):
        query = Query(
            question.user, session=talk.id, source=str(talk.path.resolve()), scope="documents",
            limit=DEPTH, answer=False,
        )  # fmt: skip
        reply, cpu_ms = timed(partial(service.ask, query))
        bare = replace(query, session=None, context=())
        typed = service.search(service.understand(bare, remembers=False)).findings.chunks
        yield Asked(talk.id, turn, question, reply, typed, cpu_ms)


def score_follow_ups(asked: Sequence[Asked]) -> dict[str, object]:
    """Add up what `kds eval follow-ups` reports; docs/evaluation.md explains the keys."""
    following = [one for one in asked if one.question.expanded]
    others = [one for one in asked if not one.question.expanded]
    times = [one.cpu_ms for one in asked]
    later = [one.reply.session for one in asked if one.turn >= FROM_TURN]
    return rounded({
        "talks": len({one.talk for one in asked}),
        "questions": len(asked),
        "follow_ups": len(following),
        "resolved": share(one.resolved for one in following),
        "exact": share(
            matches(one.reply.rewritten_query, one.question.expanded) for one in following
        ),
        "kept": share(one.kept for one in others),
        "of_follow_ups": _recalls(following),
        "of_others": _recalls(others),
        "session_hits": share(session is not None and session.hit for session in later),
        "ms_p50": percentile(times, 50),
        "ms_p95": percentile(times, 95),
    })  # fmt: skip


def question_error(one: Asked) -> Row | None:
    """What was not understood or not found, for `--errors`."""
    question, depth = one.question, CUTOFFS[-1]
    resolved, recall = one.resolved if question.expanded else one.kept, one.recall(depth)
    if resolved and recall >= 1:
        return None
    return {
        "talk": one.talk,
        "turn": one.turn,
        "user": question.user,
        "rewritten": one.reply.rewritten_query,
        "expanded": list(question.expanded),
        "refers_to": list(question.refers_to),
        "resolved": resolved,
        f"recall@{depth}": recall,
        "wanted": [place.model_dump() for place in question.places],
        "found": [chunk.citation for chunk in one.reply.chunks[:depth]],
        "why": list(one.reply.rewriting.why),
    }


def _recalls(asked: Iterable[Asked]) -> dict[str, object]:
    counted = [one for one in asked if one.question.places]
    return {
        name: {
            f"recall@{depth}": mean(one.recall(depth, typed=typed) for one in counted)
            for depth in CUTOFFS
        }
        for name, typed in (("rewritten", False), ("typed", True))
    }


def _is_in(chunks: Iterable[Chunk], place: Place) -> bool:
    words, heading = plain(place.contains), f"{plain(place.section)} "
    return any(
        f"{plain(chunk.section or '')} ".startswith(heading) and words in plain(chunk.text)
        for chunk in chunks
    )
