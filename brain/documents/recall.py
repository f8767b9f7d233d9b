"""Recall: the passages that a question is about, best first, with reasons.

Words and, with an embedding model, meaning are searched; passages that define a term of the
question and those of sections that it names by number come along. All are judged once more, lifted
when they are of the document asked about, and for a comparison each of the things compared gets a
place among the first. Nothing here changes the store.

Every signal of the second look is worth as much as the rarity of what it is about, so that one rare
word does not lose against three common ones. The weights were set by hand on 162 questions over an
agreement, an API guide, a handbook, two contracts and the pages of docs/; halving or doubling one
of eight moved recall@5 by at most one question. On 91 questions over three other documents recall@5
of questions that stand alone was 100 %.
"""

import json
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Final, NamedTuple

from kds.brain.documents.question import Asked, read_asked, without_references
from kds.brain.documents.values import Candidate, DocumentHit, DocumentRecall
from kds.brain.passages.question import Term
from kds.brain.passages.recall import DenseHits, Log, embed_question, search_vectors, words_told
from kds.brain.passages.rerank import Weights, fuse, rarity
from kds.brain.passages.store import Embedder
from kds.brain.words.terms import ABOUT_MEANING, EMPTY, has_phrase, said, stem, stem_line

if TYPE_CHECKING:
    from kds.brain.documents.store import Documents

CANDIDATES: Final = 100
"""Passages with words of the question that get a second look."""

COMMON_SHARE: Final = 0.1
COMMON_FLOOR: Final = 300
"""A word that more passages than this share, and than this number, have is not searched for when
rarer ones are there; where it stands is judged all the same."""

COLUMN_WEIGHTS: Final = (1.0, 1.0, 0.3, 1.5)
"""BM25 weights of headings, body, surroundings, and terms with identifiers."""

LIMIT: Final = 5

NEAREST: Final = 30
"""Passages by meaning; those that words did not find are looked at too."""

DOCUMENT_BIAS: Final = 1.15
"""What a passage of the document asked about counts more. Never a filter."""

WEIGHTS: Final = Weights(alpha=0.25, beta=0.75, gamma=0.0)
"""Of meaning and of everything else."""

SATURATION: Final = 1.0  # BM25's k1
LENGTH: Final = 0.35  # BM25's b: passages are cut to a size, so their lengths say little

# How often a word counts by where it stands: in the section's own heading; in those above or the
# document's title (of 18 questions over the pages of docs/ .5 finds one fewer among the first
# five); as a synonym; as a word of a name that is not found as a whole.
OWN_HEADING: Final = 1.5
UPPER_HEADING: Final = 1.0
SYNONYM: Final = 0.5
SCATTERED: Final = 0.45

PHRASE: Final = 0.5
"""A name that stands there as a whole, of the rarity of its words."""

DEFINITION: Final = 3.0
MENTIONED: Final = 0.12
"""A passage that defines what the question is about, times the share of the question that asks
for just that: all of "What is the Closing Date?", little of one that only names it."""

REFERENCE: Final = 14.0
"""A passage of the section that is named by number: two very rare words."""

COVERAGE: Final = 0.35
"""How much of the score depends on how much of the question is there at all."""

_EMPTY: Final = ABOUT_MEANING | EMPTY
"""Words that name nothing: they only ask what something is."""


def recall(
    store: "Documents",
    query: str,
    *,
    limit: int,
    bias: float,
    preferred: Collection[str],
    within: str | None,
    embedder: Embedder | None,
) -> DocumentRecall:
    """Find the passages a question is about. An embedding model that fails is a note.

    Passages of the ``preferred`` documents count ``bias`` times as much. ``within``: the id of the
    only document to look at.
    """
    log = Log()
    with log.stage("question"):
        asked = read_asked(query, lambda keys: store.definers(keys, within))
        referred = {
            chunk_id: (fit, one.text)
            for one in reversed(asked.references)
            for chunk_id, fit in store.referred(one, within).items()
        }
        if referred:
            asked = without_references(asked)
    with log.stage("words"):
        total, mean = store.measure()
        counts = store.document_frequencies(asked.words)
        rarities = {
            term.word: rarity(sum(counts.get(form, 0) for form in term.forms), total)
            for term in asked.terms
        }
        words = _searched(asked, counts, total)
        found = store.search_words(words, within, limit=CANDIDATES, weights=COLUMN_WEIGHTS)
    with log.stage("meaning"):
        vector = embed_question(store, embedder, query, log)
        dense = search_vectors(store, vector, within, log, limit=NEAREST)
    with log.stage("judging"):
        definers = [one for concept in asked.concepts for one in concept.definers]
        ids = dict.fromkeys((*found, *dense.hits, *definers, *referred))
        places = {one.chunk_id: one for one in store.candidates(tuple(ids))}
        judge = Judge(asked, rarities, referred, max(mean, 1.0))
        judged = judge.judge(places.values())
    with log.stage("ranking"):
        biases = {
            one: bias if place.document in preferred else 1.0 for one, place in places.items()
        }
        hits = tuple(_hits(store, judged, biases, dense, limit))
    return DocumentRecall(
        query=query,
        hits=hits,
        concepts=tuple(one.text for one in asked.concepts),
        notes=tuple(log.notes),
        timings_ms=log.timings_ms,
    )


def _searched(asked: Asked, counts: Mapping[str, int], total: int) -> tuple[str, ...]:
    """Leave out common words where there are others: they cost the most and tell the least."""
    limit = max(COMMON_FLOOR, COMMON_SHARE * total)
    own = [form for term in asked.terms for form in term.forms]
    rare = [word for word in own if counts.get(word, 0) <= limit]
    others = [word for word in asked.words if word not in own and counts.get(word, 0) <= limit]
    return (*(rare if any(counts.get(word) for word in rare) else own), *others)


@dataclass(frozen=True, slots=True)
class Judged:
    """What the second look made of a passage."""

    score: float
    parts: Mapping[str, float]
    """Words, definition and reference: they add up to the score."""
    has: tuple[str, ...]
    """Words of the question that it has."""
    defines: tuple[str, ...]
    refers: str
    """The section it is of, as the question names it; "" for none."""


class Judge:
    """All that is known when the passages of one question are judged."""

    def __init__(
        self,
        asked: Asked,
        rarities: Mapping[str, float],
        referred: Mapping[int, tuple[float, str]],
        mean_tokens: float,
    ) -> None:
        """``rarities``: of each term's word. ``referred``: passages of sections that are named."""
        self._referred, self._mean = referred, mean_tokens
        rare = {term: rarities.get(term.word, 0.0) for term in asked.terms}
        self._seekers = [_Seeker.of(term, asked, rare[term]) for term in asked.terms]
        self._total = sum(rare.values())
        self._named = [
            (one, sum(rare[term] for term in rare if term.stems.intersection(one.words)))
            for one in asked.concepts
        ]
        names = {word for one in asked.concepts for word in one.words}
        own = sum(rare[term] for term in rare if term.stems & names)
        rest = sum(rare[term] for term in rare if not term.stems & (names | _EMPTY))
        asks = asked.asks_meaning and own
        self._share = max((own / (own + rest)) ** 2 if asks else 0.0, MENTIONED)
        """How much of the question is the names in it, the rest only asking what they are."""

    def judge(self, candidates: Iterable[Candidate]) -> dict[int, Judged]:
        """Score passages; those that have nothing of the question are left out."""
        judged = ((one.chunk_id, self._judge(one)) for one in candidates)
        return {chunk_id: found for chunk_id, found in judged if found.score > 0.0}

    def _judge(self, one: Candidate) -> Judged:
        heading, above = heading_lines(one.title, one.path)
        whole = {
            concept.key: worth
            for concept, worth in self._named
            if has_phrase(one.stems, concept.key) or has_phrase(heading, concept.key)
        }
        norm = SATURATION * (1.0 - LENGTH + LENGTH * one.tokens / self._mean)
        words = covered = 0.0
        has: list[str] = []
        for seeker in self._seekers:
            count = own = seeker.own(one.stems, heading, above)
            if not count:
                continue
            if seeker.names and whole.keys().isdisjoint(seeker.names):
                count *= SCATTERED
            words += seeker.rarity * count * (SATURATION + 1.0) / (count + norm)
            covered += seeker.rarity * min(own, 1.0)
            has.append(seeker.word)
        words *= 1.0 - COVERAGE + COVERAGE * (covered / self._total if self._total else 0.0)
        words += PHRASE * sum(whole.values())
        defined = [(it, worth) for it, worth in self._named if one.chunk_id in it.definers]
        definition = sum(
            DEFINITION * self._share * worth * concept.definers[one.chunk_id]
            for concept, worth in defined
        )
        fit, name = self._referred.get(one.chunk_id, (0.0, ""))
        reference = REFERENCE * fit
        return Judged(
            score=words + definition + reference,
            parts={"words": words, "definition": definition, "reference": reference},
            has=tuple(has),
            defines=tuple(concept.text for concept, _ in defined),
            refers=name,
        )


class _Seeker(NamedTuple):
    """A term on the search for itself in lines of stems."""

    word: str
    rarity: float
    stems: tuple[str, ...]
    others: tuple[str, ...]
    """Of its synonyms."""
    names: tuple[str, ...]
    """The keys of the names that it is a part of."""

    @classmethod
    def of(cls, term: Term, asked: Asked, rarity: float) -> "_Seeker":
        others = {stem(word) for word in asked.synonyms.get(term.word, ())}
        names = (one for one in asked.concepts if term.stems.intersection(one.words))
        keys = tuple(one.key for one in names if len(one.words) > 1)
        return cls(term.word, rarity, tuple(term.stems), tuple(others), keys)

    def own(self, text: str, heading: str, above: str) -> float:
        """Return how often a passage has it, headings included."""
        own = float(sum(said(text, one) for one in self.stems))
        own += OWN_HEADING * self.is_in(heading) + UPPER_HEADING * self.is_in(above)
        if own < 1.0 and any(f" {one} " in text or f" {one} " in heading for one in self.others):
            return max(own, SYNONYM)
        return own

    def is_in(self, line: str) -> bool:
        """Tell whether a line has it."""
        return any(f" {one} " in line for one in self.stems)


@lru_cache(maxsize=20_000)
def heading_lines(title: str, path: str) -> tuple[str, str]:
    """Return the stems of the own heading, and of those above and the title."""
    *upper, own = json.loads(path) or [""]
    return stem_line(own), stem_line(" ".join((title, *upper)))


def _hits(
    store: "Documents",
    judged: Mapping[int, Judged],
    biases: Mapping[int, float],
    dense: DenseHits,
    limit: int,
) -> Iterator[DocumentHit]:
    """Fuse what was judged with what is near, and yield the best, with parts and reasons."""
    fused = fuse(
        {one: found.score for one, found in judged.items()},
        {},
        {one: cosine for one, cosine in dense.hits.items() if one in biases},
        weights=WEIGHTS,
        dense_floor=dense.floor,
        least=dense.least,
    )
    scores = {one: found.score * biases[one] for one, found in fused.items()}
    best = max((found.score for found in judged.values()), default=0.0) or 1.0
    nothing = Judged(0.0, {"words": 0.0, "definition": 0.0, "reference": 0.0}, (), (), "")
    order = sorted(scores, key=lambda one: (-scores[one], one))
    for passage in store.passages(order[:limit]):
        one = passage.chunk_id
        found, bias = judged.get(one, nothing), biases[one]
        parts = {name: value / best for name, value in found.parts.items()}
        why = [f"defines '{term}'" for term in found.defines]
        why += [f"is in {found.refers}"] if found.refers else []
        why += words_told(found.has, ())
        if (meaning := fused[one].dense) is not None:
            parts["meaning"] = meaning
        if one in dense.hits:
            why.append(f"meaning: cosine {dense.hits[one]:.2f}")
        if bias != 1.0:
            why.append(f"x{bias:g}: of the document asked about")
        yield DocumentHit(passage, scores[one], parts, bias, tuple(why))
