"""Recall: the passages that a question is about, best first, with reasons.

Words and, with an embedding model, meaning are searched; passages that define a term of the
question and those of sections that it names by number come along. All are judged once more
(`judging`), lifted when they are of the document asked about, and for a comparison each of the
things compared gets a place among the first. Nothing here changes the store.
"""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from time import perf_counter
from typing import Final, Protocol

from kds.brain.documents.document_values import DocumentRecall, Passage
from kds.brain.documents.judging import Candidate, Judge, rarity
from kds.brain.documents.lookup import Lookup
from kds.brain.documents.question import Asked, read_asked, without_references
from kds.brain.documents.ranking import NEAREST, Request, diversified, explained, rank
from kds.brain.passages.dense import embed_question
from kds.brain.passages.store import Embedder
from kds.brain.passages.values import Scored

CANDIDATES: Final = 100
"""Passages with words of the question that get a second look."""

COMMON_SHARE: Final = 0.1
"""A word that more passages than this share have is not searched for when rarer ones are there;
where it stands is judged all the same."""

COMMON_FLOOR: Final = 300
"""Passages: in a small store no word is too common."""

COLUMN_WEIGHTS: Final = (1.0, 1.0, 0.3, 1.5)
"""BM25 weights of headings, body, surroundings, and terms with identifiers."""


class Searches(Protocol):
    """What a recall asks of the store."""

    def lookup(self, within: str | None) -> Lookup:
        """Return the tables of terms and sections, of one document or of all."""
        ...

    def frequencies(self, words: Sequence[str]) -> Mapping[str, int]:
        """Return in how many passages each word occurs."""
        ...

    def by_words(
        self, words: Sequence[str], within: str | None, *, limit: int
    ) -> tuple[Scored, ...]:
        """Rank passages that have any of the words."""
        ...

    def by_vector(
        self, vector: Sequence[float], within: str | None, *, model: str, limit: int
    ) -> tuple[Scored, ...]:
        """Rank passages by the cosine of their vectors."""
        ...

    def candidates(self, ids: Sequence[int]) -> tuple[Candidate, ...]:
        """Return passages as they are judged."""
        ...

    def passages(self, ids: Sequence[int]) -> tuple[Passage, ...]:
        """Return passages by id, in no order."""
        ...

    def measure(self) -> tuple[int, float]:
        """Return how many passages there are, and their mean size in tokens."""
        ...


def recall(
    store: Searches, request: Request, *, embedder: Embedder | None = None
) -> DocumentRecall:
    """Find the passages a question is about. An embedding model that fails is a note."""
    started = perf_counter()
    log = _Log()
    within = request.within.id if request.within else None
    lookup = store.lookup(within)
    with log.stage("question"):
        asked = read_asked(request.query, lookup.definers)
        referred = {
            chunk_id: (fit, one.text)
            for one in reversed(asked.references)
            for chunk_id, fit in lookup.referred(one).items()
        }
        if referred:
            asked = without_references(asked)
    with log.stage("words"):
        judge, candidates = _candidates(store, asked, referred, within)
    with log.stage("meaning"):
        dense = _dense(store, request, within, embedder, log)
    with log.stage("judging"):
        ids = dict.fromkeys((*candidates, *(hit.chunk_id for hit in dense)))
        places = {one.chunk_id: one for one in store.candidates(tuple(ids))}
        judged = judge.judge(places.values())
    with log.stage("ranking"):
        ranked = rank(request, places, judged, dense)
        ranked = diversified(asked, judge, ranked, places)[: request.limit]
        found = {one.chunk_id: one for one in store.passages([one.chunk_id for one in ranked])}
        hits = explained(found, ranked, judged, dense)
    total = (perf_counter() - started) * 1000.0 - log.timings_ms.get("embedding", 0.0)
    return DocumentRecall(
        query=request.query,
        hits=hits,
        concepts=tuple(one.text for one in asked.concepts),
        notes=tuple(log.notes),
        timings_ms=log.timings_ms | {"total": total},
    )


@dataclass(slots=True)
class _Log:
    notes: list[str] = field(default_factory=list)
    timings_ms: dict[str, float] = field(default_factory=dict)

    @contextmanager
    def stage(self, name: str) -> Iterator[None]:
        started = perf_counter()
        try:
            yield
        finally:
            self.timings_ms[name] = (perf_counter() - started) * 1000.0


def _candidates(
    store: Searches, asked: Asked, referred: Mapping[int, tuple[float, str]], within: str | None
) -> tuple[Judge, tuple[int, ...]]:
    total, mean = store.measure()
    counts = store.frequencies(asked.words)
    rarities = {
        term.word: rarity(sum(counts.get(form, 0) for form in term.forms), total)
        for term in asked.terms
    }
    searched = _searched(asked, counts, total)
    found = store.by_words(searched, within, limit=CANDIDATES)
    definers = (one for concept in asked.concepts for one in concept.definers)
    ids = dict.fromkeys((*(hit.chunk_id for hit in found), *definers, *referred))
    return Judge(asked, rarities, referred, max(mean, 1.0)), tuple(ids)


def _searched(asked: Asked, counts: Mapping[str, int], total: int) -> tuple[str, ...]:
    """Leave out common words where there are others: they cost the most and tell the least."""
    limit = max(COMMON_FLOOR, COMMON_SHARE * total)
    own = [form for term in asked.terms for form in term.forms]
    rare = [word for word in own if counts.get(word, 0) <= limit]
    others = [word for word in asked.words if word not in own and counts.get(word, 0) <= limit]
    return (*(rare if any(counts.get(word) for word in rare) else own), *others)


def _dense(
    store: Searches, request: Request, within: str | None, embedder: Embedder | None, log: _Log
) -> tuple[Scored, ...]:
    if embedder is None or not request.query.strip():
        return ()
    vector = embed_question(embedder, request.query)
    log.timings_ms["embedding"] = vector.ms
    if vector.values is None:
        log.notes.append(vector.note or "the embedding model gave no vector; words only")
        return ()
    found = store.by_vector(vector.values, within, model=embedder.name, limit=NEAREST)
    if not found:
        log.notes.append(f"no vectors of '{embedder.name}' here yet; words only")
    return found
