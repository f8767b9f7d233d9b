"""Finding what was said in past sessions, and saying how sure it is that it answers."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Final

from kds.brain.encoder import shared_encoder
from kds.brain.memory.metrics import log_recall
from kds.brain.passages.question import Question
from kds.brain.passages.recall import Hit, recall
from kds.brain.passages.rerank import rarity
from kds.brain.passages.store import Embedder
from kds.brain.words.stems import WORD, stem
from kds.transcripts.catalogue import AssistantMemory, Kept, Project, ProjectStore

JUDGED: Final = 3
"""Hits that are looked at to tell how sure an answer is."""

PASSAGE_CHARS: Final = 1_000
"""Of a passage that is compared by meaning: what the encoder reads of it."""


@dataclass(frozen=True, slots=True)
class Found:
    """A passage, and the session that it is from."""

    hit: Hit
    kept: Kept
    project: Project
    words: tuple[str, ...]
    """Words of the question that it has."""


@dataclass(frozen=True, slots=True)
class Answer:
    """What was found, best first, and how sure it is that the best answers the question."""

    found: tuple[Found, ...]
    sure: float
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Signs:
    """What tells an answer from what is merely near: each is from 0 to 1."""

    cosine: float
    """Of the question to the nearest of the best passages."""
    covered: float
    """Share of the question's words, by their rarity, that one passage has."""
    known: float
    """The same share that stands anywhere in the project."""


def ask(
    memory: AssistantMemory,
    projects: Sequence[Project],
    question: str,
    *,
    limit: int = 5,
    since: datetime | None = None,
    embedder: Embedder | None = None,
    now: datetime | None = None,
    surface: str = "cli",
) -> Answer:
    """Search the sessions of ``projects``; of several, the surest project comes first."""
    answers: list[Answer] = []
    with memory.stores(projects) as opened:
        for project, store in opened:
            result = recall(store, question, limit=max(20, 2 * limit), embedder=embedder, now=now)
            result = log_recall(store, result, surface=surface)
            hits = [one for one in result.hits if since is None or one.passage.at >= since]
            signs = signs_of(store, result.question, hits[:JUDGED], semantic=embedder is not None)
            kept = {one.session.id: one for one in store.kept(_sessions(hits[:limit]))}
            found = tuple(
                Found(hit, kept[hit.passage.session_id], project, words_in(result.question, hit))
                for hit in hits[:limit]
                if hit.passage.session_id in kept
            )
            answers.append(Answer(found, certainty(signs) if hits else 0.0, result.notes))
    answers.sort(key=lambda one: -one.sure)
    every = [replace(one, hit=replace(one.hit, score=one.hit.score * answer.sure))
             for answer in answers for one in answer.found]  # fmt: skip
    if len(answers) > 1:
        every.sort(key=lambda one: -one.hit.score)
    notes = tuple(dict.fromkeys(note for answer in answers for note in answer.notes))
    return Answer(tuple(every[:limit]), answers[0].sure if answers else 0.0, notes)


def _sessions(hits: Sequence[Hit]) -> list[str]:
    return list(dict.fromkeys(hit.passage.session_id for hit in hits))


def words_in(question: Question, hit: Hit) -> tuple[str, ...]:
    """Return the words of the question that a passage has, in the question's order."""
    text = f"{hit.passage.header} {hit.passage.body} {hit.passage.idents}".casefold()
    stems = frozenset(map(stem, WORD.findall(text)))
    return tuple(term.word for term in question.terms if term.stems & stems)


def signs_of(
    store: ProjectStore, question: Question, hits: Sequence[Hit], *, semantic: bool
) -> Signs:
    """Look at the best hits of a question."""
    if not hits or not question.terms:
        return Signs(0.0, 0.0, 0.0)
    counts = store.document_frequencies([term.word for term in question.terms])
    total = max(sum(store.kinds().values()), 1)
    weights = {word: rarity(count, total) for word, count in counts.items()}
    whole = sum(weights.values()) or 1.0
    covered = max(sum(weights.get(word, 0.0) for word in words_in(question, hit)) for hit in hits)
    known = sum(weight for word, weight in weights.items() if counts[word])
    cosine = 0.0
    if semantic and shared_encoder().available:
        texts = [question.text, *(hit.passage.body[:PASSAGE_CHARS] for hit in hits)]
        vectors = shared_encoder().encode(texts)
        cosine = float((vectors[1:] @ vectors[0]).max())
    return Signs(max(cosine, 0.0), covered / whole, known / whole)


WEIGHTS: Final = (5.0, 2.0, 1.0, -4.0)
"""Of cosine, covered, known, and 1."""

SURE: Final = 0.5


def certainty(signs: Signs) -> float:
    """Return the probability that the best passages answer the question."""
    cosine, covered, known, one = WEIGHTS
    total = cosine * signs.cosine + covered * signs.covered + known * signs.known + one
    return 1.0 / (1.0 + math.exp(-total))
