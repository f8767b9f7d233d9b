"""Recall: the passages that a question is about, best first, with reasons.

Words and, with an embedding model, meaning are searched; passages that define a term of the
question and those of sections that it names by number come along. All are judged once more
(`judging`), lifted when they are of the document asked about, and for a comparison each of the
things compared gets a place among the first. Nothing here changes the store.
"""

from collections.abc import Mapping
from time import perf_counter
from typing import Final

from kds.brain.documents.document_table import DocumentTable
from kds.brain.documents.document_values import DocumentRecall
from kds.brain.documents.judging import Judge
from kds.brain.documents.question import Asked, read_asked, without_references
from kds.brain.documents.ranking import NEAREST, Request, diversified, explained, rank
from kds.brain.passages.dense import embed_question, search_vectors
from kds.brain.passages.recalled import Log
from kds.brain.passages.rerank import rarity
from kds.brain.passages.store import Embedder

CANDIDATES: Final = 100
"""Passages with words of the question that get a second look."""

COMMON_SHARE: Final = 0.1
"""A word that more passages than this share have is not searched for when rarer ones are there;
where it stands is judged all the same."""

COMMON_FLOOR: Final = 300
"""Passages: in a small store no word is too common."""

COLUMN_WEIGHTS: Final = (1.0, 1.0, 0.3, 1.5)
"""BM25 weights of headings, body, surroundings, and terms with identifiers."""


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
        timings_ms=log.timings_ms | {"total": log.total_ms(started)},
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
