"""Recall: the passages that a question is about, best first, with reasons.

Words and, with an embedding model, meaning are searched; passages that define a term of the
question and those of sections that it names by number come along. All are judged once more
(`judging`), lifted when they are of the document asked about, and for a comparison each of the
things compared gets a place among the first. Nothing here changes the store.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from time import perf_counter
from typing import Final

from kds.brain.documents.document_table import DocumentTable
from kds.brain.documents.document_values import Document, DocumentHit, DocumentRecall, Passage
from kds.brain.documents.judging import Candidate, Judge, Judged
from kds.brain.documents.question import Asked, read_asked, side_of, without_references
from kds.brain.passages.question import LONG_QUERY
from kds.brain.passages.recall import DenseHits, Log, embed_question, search_vectors, words_told
from kds.brain.passages.rerank import Weights, fuse, rarity
from kds.brain.passages.store import Embedder
from kds.brain.passages.values import Scored
from kds.brain.words.stems import WORD

CANDIDATES: Final = 100
"""Passages with words of the question that get a second look."""

COMMON_SHARE: Final = 0.1
"""A word that more passages than this share have is not searched for when rarer ones are there;
where it stands is judged all the same."""

COMMON_FLOOR: Final = 300
"""Passages: in a small store no word is too common."""

COLUMN_WEIGHTS: Final = (1.0, 1.0, 0.3, 1.5)
"""BM25 weights of headings, body, surroundings, and terms with identifiers."""

LIMIT: Final = 5

NEAREST: Final = 30
"""Passages by meaning; those that words did not find are looked at too."""

DOCUMENT_BIAS: Final = 1.15
"""What a passage of the document asked about counts more (issue 6). Never a filter."""

WEIGHTS: Final = Weights(alpha=0.25, beta=0.75, gamma=0.0)
"""Of meaning and of everything else."""

SHORTEST_TITLE: Final = 6
"""Characters of a title that a question may name: shorter ones are words like others."""

FIRST: Final = 3
"""The places among which a comparison wants each of the things compared."""


@dataclass(frozen=True, slots=True)
class Request:
    """A question, and where to look for its answer."""

    query: str
    limit: int = LIMIT
    preferred: frozenset[str] = frozenset()
    """Ids of documents whose passages are lifted by ``bias``."""
    within: Document | None = None
    """Only its passages are looked at."""
    bias: float = DOCUMENT_BIAS
    titles: Mapping[str, str] = field(default_factory=dict)
    """Title -> id of the documents, to see whether the question names one."""


@dataclass(frozen=True, slots=True)
class Ranked:
    """A passage in the order; ``meaning`` is None where there is no vector."""

    chunk_id: int
    score: float
    bias: float
    meaning: float | None


def recall(
    store: DocumentTable, request: Request, *, embedder: Embedder | None = None
) -> DocumentRecall:
    """Find the passages a question is about. An embedding model that fails is a note."""
    started = perf_counter()
    log = Log()
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
        vector = embed_question(embedder, request.query, log)
        dense = search_vectors(store, vector, within, log, limit=NEAREST)
    with log.stage("judging"):
        ids = dict.fromkeys((*candidates, *(hit.chunk_id for hit in dense.hits)))
        places = {one.chunk_id: one for one in store.candidates(tuple(ids))}
        judged = judge.judge(places.values())
    with log.stage("ranking"):
        ranked = rank(request, places, judged, dense)
        ranked = diversified(asked, judge, ranked, places)[: request.limit]
        found = {one.chunk_id: one for one in store.passages([one.chunk_id for one in ranked])}
        hits = explained(found, ranked, judged, dense.hits)
    return DocumentRecall(
        query=request.query,
        hits=hits,
        concepts=tuple(one.text for one in asked.concepts),
        notes=tuple(log.notes),
        timings_ms=log.timings(started),
    )


def _candidates(
    store: DocumentTable,
    asked: Asked,
    referred: Mapping[int, tuple[float, str]],
    within: str | None,
) -> tuple[Judge, tuple[int, ...]]:
    total, mean = store.measure()
    counts = store.document_frequencies(asked.words)
    rarities = {
        term.word: rarity(sum(counts.get(form, 0) for form in term.forms), total)
        for term in asked.terms
    }
    searched = _searched(asked, counts, total)
    found = store.search_words(searched, within, limit=CANDIDATES, weights=COLUMN_WEIGHTS)
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


def rank(
    request: Request,
    places: Mapping[int, Candidate],
    judged: Mapping[int, Judged],
    dense: DenseHits,
) -> list[Ranked]:
    """Fuse what was judged with what is near, and lift the document asked about."""
    fused = fuse(
        {one: found.score for one, found in judged.items()},
        {},
        {hit.chunk_id: hit.score for hit in dense.hits if hit.chunk_id in places},
        weights=WEIGHTS,
        dense_floor=dense.floor,
    )
    favoured = request.preferred or _named(request)
    found = []
    for one, score in fused.items():
        bias = request.bias if places[one].document in favoured else 1.0
        found.append(Ranked(one, score.score * bias, bias, score.dense))
    return sorted(found, key=lambda one: (-one.score, one.chunk_id))


def _named(request: Request) -> frozenset[str]:
    """Return the document whose title the question has, the longest one if several."""
    asked = f" {' '.join(WORD.findall(request.query[:LONG_QUERY].casefold()))} "
    titles = (title for title in request.titles if len(title) >= SHORTEST_TITLE)
    found = [title for title in titles if f" {' '.join(WORD.findall(title.casefold()))} " in asked]
    return frozenset({request.titles[max(found, key=len)]} if found else ())


def diversified(
    asked: Asked, judge: Judge, ranked: list[Ranked], places: Mapping[int, Candidate]
) -> list[Ranked]:
    """For a comparison see that the best of each of the things compared is among the first.

    Each side is judged as a question of its own. What comes forward takes the score of what it
    comes behind; the order of all others stays.
    """
    kept = _best_of_sides(asked, judge, {one.chunk_id: one for one in ranked}, places)
    first = _with(ranked[:FIRST], kept)
    ids = {one.chunk_id for one in first}
    return [*first, *(one for one in ranked if one.chunk_id not in ids)]


def _best_of_sides(
    asked: Asked, judge: Judge, ranked: Mapping[int, Ranked], places: Mapping[int, Candidate]
) -> list[Ranked]:
    kept: list[Ranked] = []
    for number in range(len(asked.sides)):
        side = replace(judge, asked=side_of(asked, number), referred={})
        found = side.judge(places.values())
        best = max(found, key=lambda one: (found[one].score * ranked[one].bias, -one), default=None)
        if best is not None and ranked[best] not in kept:
            kept.append(ranked[best])
    return kept


def _with(first: list[Ranked], kept: list[Ranked]) -> list[Ranked]:
    """Put what must be kept among the first, in the place of the last that need not be."""
    missing = [one for one in kept if one not in first]
    free = [one for one in first if one not in kept]
    dropped = free[max(len(free) - len(missing), 0) :]
    first = [one for one in first if one not in dropped]
    for one in missing:
        score = first[-1].score if first else one.score
        first.append(replace(one, score=max(score, one.score)))
    return first


def explained(
    passages: Mapping[int, Passage],
    ranked: Sequence[Ranked],
    judged: Mapping[int, Judged],
    dense: Sequence[Scored],
) -> tuple[DocumentHit, ...]:
    """Return passages as hits, with their parts and the reasons."""
    cosines = {hit.chunk_id: hit.score for hit in dense}
    best = max((found.score for found in judged.values()), default=0.0) or 1.0
    hits = []
    for one in ranked:
        if one.chunk_id not in passages:  # removed meanwhile
            continue
        found = judged.get(one.chunk_id)
        parts = {
            "words": found.words / best if found else 0.0,
            "definition": found.definition / best if found else 0.0,
            "reference": found.reference / best if found else 0.0,
        }
        if one.meaning is not None:
            parts["meaning"] = one.meaning
        why = tuple(_why(found, cosines.get(one.chunk_id), one.bias))
        hits.append(DocumentHit(passages[one.chunk_id], one.score, parts, one.bias, why))
    return tuple(hits)


def _why(found: Judged | None, cosine: float | None, bias: float) -> Iterator[str]:
    if found is not None:
        for term in found.defines:
            yield f"defines '{term}'"
        for name in found.refers:
            yield f"is in {name}"
        yield from words_told(found.has, found.near)
    if cosine is not None:
        yield f"meaning: cosine {cosine:.2f}"
    if bias != 1.0:
        yield f"x{bias:g}: of the document asked about"
