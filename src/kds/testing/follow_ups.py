"""`kds eval follow-ups`: is each question about a document understood, and its answer found?

Every conversation is put to the query service as its clients do: a session, the document in view,
all documents searched. Beside it stands the same question searched as it was typed.
docs/evaluation.md has the form of the file. A turn with `expanded` is a follow-up: it needs what
was said before. A turn without it stands alone, and must come back unchanged.
"""

import tempfile
from collections.abc import Iterable, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Annotated, Final

from pydantic import BeforeValidator, Field

from kds.api.measures import mean, share, timed
from kds.api.rehearsal import matches
from kds.brain.documents.store import DocumentPlace
from kds.brain.environment import BRAIN
from kds.brain.errors import KdsError
from kds.brain.workspace import Workspace
from kds.documents.indexing import add_documents
from kds.query.service import QueryService
from kds.query.values import FROM_TURN, Chunk, Query
from kds.testing.examples import Bench, Example, Row, Text, Texts, listed, times

CUTOFFS: Final = (1, 3, 5)
DEPTH: Final = 10
"""Passages that are asked for."""


class Place(Example, extra="forbid"):
    """A passage: how the heading of its section begins, and some words of it ("": any)."""

    section: Text
    contains: str = ""

    def is_in(self, chunks: Iterable[Chunk]) -> bool:
        """Whether it is one of ``chunks``."""
        heading, words = f"{plain(self.section)} ", plain(self.contains)
        return any(
            f"{plain(chunk.section or '')} ".startswith(heading) and words in plain(chunk.text)
            for chunk in chunks
        )


_Places = Annotated[tuple[Place, ...], BeforeValidator(listed)]


class Question(Example, extra="forbid"):
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

    def resolved(self, text: str) -> bool:
        """Tell whether ``text`` is an accepted wording, or names everything that is referred to.

        Without a wording that is expected, it has to be the question itself.
        """
        if matches(text, self.expanded or [self.user]):
            return True
        said = f" {plain(text)} "
        return bool(self.refers_to) and all(f" {plain(name)}" in said for name in self.refers_to)

    def recalls(self, chunks: Sequence[Chunk]) -> list[float]:
        """Shares of what answers it among the first passages, by CUTOFFS; none if none is named."""
        if self.find:
            return [float(any(one.is_in(chunks[:depth]) for one in self.find)) for depth in CUTOFFS]
        found = ([one.is_in(chunks[:depth]) for one in self.find_all] for depth in CUTOFFS)
        return [sum(some) / len(some) for some in found if some]


class Talk(Example, extra="forbid"):
    """A conversation about one document, which is named relative to the file."""

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


def run(talks: Sequence[Talk], bench: Bench) -> list[Row]:
    """Put the questions to a query service over a temporary store of the documents."""
    parts = bench.parts()
    with tempfile.TemporaryDirectory(prefix="kds-follow-ups-") as folder:
        root = Path(folder).resolve()
        place = Workspace(root, root / BRAIN)
        place.ensure()
        documents = list(dict.fromkeys(talk.path for talk in talks))
        with DocumentPlace(place).open() as store:
            for failed in add_documents(store, documents, tell=bench.tell).of("failed"):
                raise failed.error or KdsError("cannot be read", where=str(failed.path))
        with QueryService(replace(parts, workspace=place)) as service:
            return [
                _ask(service, talk, number, question)
                for talk in bench.each(talks, "asking")
                for number, question in enumerate(talk.turns, start=1)
            ]


def _ask(service: QueryService, talk: Talk, turn: int, question: Question) -> Row:
    query = Query(
        question.user, session=talk.id, source=str(talk.path.resolve()), scope="documents",
        limit=DEPTH, answer=False,
    )  # fmt: skip
    reply, ms = timed(partial(service.ask, query))
    bare = replace(query, session=None, context=())
    typed = service.search(service.understand(bare, remembers=False)).chunks
    resolved, recalls = question.resolved(reply.rewritten_query), question.recalls(reply.chunks)
    return {
        "where": question.where,
        "talk": talk.id,
        "turn": turn,
        **question.model_dump(),
        "rewritten": reply.rewritten_query,
        "resolved": resolved,
        "exact": matches(reply.rewritten_query, question.expanded),
        "of_rewritten": recalls,
        "of_typed": question.recalls(typed),
        "found": [chunk.citation for chunk in reply.chunks[: CUTOFFS[-1]]],
        "right": resolved and (not recalls or recalls[-1] >= 1),
        "session_hit": reply.session is not None and reply.session.hit,
        "why": list(reply.rewriting.why),
        "ms": ms,
    }


def score(rows: Sequence[Row]) -> Row:
    """Add up what `kds eval follow-ups` reports; docs/evaluation.md explains the keys."""
    following = [row for row in rows if row["expanded"]]
    others = [row for row in rows if not row["expanded"]]
    return {
        "talks": len({row["talk"] for row in rows}),
        "questions": len(rows),
        "follow_ups": len(following),
        "resolved": share(row["resolved"] for row in following),
        "exact": share(row["exact"] for row in following),
        "kept": share(row["resolved"] for row in others),
        "of_follow_ups": _recalls(following),
        "of_others": _recalls(others),
        "session_hits": share(row["session_hit"] for row in rows if row["turn"] >= FROM_TURN),
        **times(rows, 50, 95),
    }


def _recalls(rows: Sequence[Row]) -> Row:
    return {
        name: {
            f"recall@{depth}": mean(found[at] for row in rows if (found := row[f"of_{name}"]))
            for at, depth in enumerate(CUTOFFS)
        }
        for name in ("rewritten", "typed")
    }
