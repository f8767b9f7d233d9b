"""Searching by words: the chunks that are worth a second look (`rerank`).

In one conversation the words' places are enough: a chunk is worth what it says and, less, what
its neighbours say. In all conversations the index ranks (BM25), and leaves out the most common
words, which cost the most and tell the least.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from kds.brain.passages.query import Question, Term
from kds.brain.passages.rerank import LENGTH, NEIGHBOURS, rarity
from kds.brain.passages.store import MessageSearch
from kds.brain.passages.values import Scored

COLUMN_WEIGHTS: Final = (1.0, 1.0, 0.4, 1.0)
"""BM25 weights of header, body, context and idents. LoCoMo: .4 for the context finds 1 point more
than .3."""

CANDIDATES: Final = 150
"""Chunks that get a second look. LoCoMo: 60 lose 0.8 points of recall@10, 100 lose 0.2."""

EVERYWHERE_CANDIDATES: Final = 50
"""In all conversations a word stands in many places that have nothing to do with each other."""

COMMON_SHARE: Final = 0.01
"""A word that more chunks than this share have is not searched for in all conversations when
rarer words are there."""

COMMON_FLOOR: Final = 200
"""Chunks: in a small store no word is too common."""

PLACES: Final = 3000
"""The newest places of a word that are looked at in one conversation."""

_STEPS: Final = {0: 1.0, **NEIGHBOURS}


@dataclass(frozen=True, slots=True)
class LexicalHits:
    """Candidates, and how rare the words asked for are."""

    hits: tuple[Scored, ...]
    rarities: Mapping[str, float]
    """Of each term's word (BM25's idf)."""
    pruned: tuple[str, ...] = ()
    """Words that were left out of the search for being too common."""


def search_words(store: MessageSearch, question: Question, within: str | None) -> LexicalHits:
    """Collect the chunks that share words with the question, the most promising ones first."""
    if not question.terms:
        return LexicalHits((), {})
    total, _ = store.measure()
    counts = store.document_frequencies(question.words)
    frequencies = {
        term.word: sum(counts.get(form, 0) for form in term.forms) for term in question.terms
    }
    rarities = {word: rarity(count, total) for word, count in frequencies.items()}
    terms = [term for term in question.terms if frequencies[term.word]]
    if within is not None:
        return LexicalHits(_in_session(store, terms, rarities, within), rarities)
    kept = _searched(terms, frequencies, total)
    forms = dict.fromkeys(form for term in kept for form in term.forms if counts.get(form))
    hits = store.search_words(tuple(forms), limit=EVERYWHERE_CANDIDATES, weights=COLUMN_WEIGHTS)
    pruned = tuple(term.word for term in terms if term not in kept)
    return LexicalHits(hits, rarities, pruned)


def _in_session(
    store: MessageSearch, terms: Sequence[Term], rarities: Mapping[str, float], session_id: str
) -> tuple[Scored, ...]:
    places = store.occurrences([term.forms for term in terms], session_id, limit=PLACES)
    scores: dict[int, float] = {}
    for term, place in zip(terms, places, strict=True):
        for one, worth in _spread(_worths(place)).items():
            scores[one] = scores.get(one, 0.0) + rarities[term.word] * math.sqrt(worth)
    best = sorted(scores, key=lambda one: (-scores[one], -one))[:CANDIDATES]
    return tuple(Scored(one, scores[one]) for one in best)


def _worths(place: Mapping[int, int]) -> dict[int, float]:
    """Return what the word is worth in each chunk, by the chunk's tokens."""
    mean = sum(place.values()) / max(len(place), 1) or 1.0
    return {one: 2.0 / (2.0 - LENGTH + LENGTH * tokens / mean) for one, tokens in place.items()}


def _spread(worths: Mapping[int, float]) -> dict[int, float]:
    """Return the squares of what the word is worth in each chunk and its neighbours."""
    squares: dict[int, float] = {}
    for one, worth in worths.items():
        for step, weight in _STEPS.items():
            squares[one - step] = squares.get(one - step, 0.0) + (weight * worth) ** 2
    return squares


def _searched(terms: Sequence[Term], frequencies: Mapping[str, int], total: int) -> Sequence[Term]:
    """Leave out common words, unless there are no others."""
    limit = max(COMMON_FLOOR, COMMON_SHARE * total)
    rare = [term for term in terms if frequencies[term.word] <= limit]
    return rare or sorted(terms, key=lambda term: frequencies[term.word])[:1]
