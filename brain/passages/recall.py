"""Recall: the passages of past conversations that a question is about, best first, with reasons.

Words, identifiers and (with an embedding model) meaning are searched, what they found is judged
in its surroundings, and the scores are fused and explained. The conversation at hand comes first;
the others follow only when it has too little. Nothing here changes the store. `assemble` puts what
was found into the tokens there are.
"""

import math
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from datetime import datetime
from heapq import nlargest
from itertools import accumulate, islice
from time import perf_counter
from typing import Final

from kds.brain.encoder import NAME as SHIPPED
from kds.brain.errors import StoreError
from kds.brain.passages.question import Question, Term, read_question
from kds.brain.passages.rerank import (
    DEFAULT,
    LEAST_COSINE,
    LENGTH,
    NEIGHBOURS,
    PROMPT,
    Fused,
    Reranked,
    Weights,
    fuse,
    rarity,
    rerank,
    weights_for,
    window,
)
from kds.brain.passages.store import Embedder, MessageSearch, PassageStore
from kds.brain.passages.values import Passage, Scores, Summary, is_told
from kds.brain.settings import RecallOptions
from kds.brain.words.terms import TokenCounter, estimate_tokens

FEW: Final = 3
"""Fewer hits than that in the conversation, and all conversations are searched."""

DOCUMENT_BIAS: Final = 1.15
"""What a hit of a conversation about the same document counts more. Never a filter."""

SUMMARIES: Final = 2
"""Summaries of the conversation that come with the hits."""

CANDIDATES: Final = 150
"""Passages that get a second look. LoCoMo: 60 lose 0.8 points of recall@10, 100 lose 0.2."""

EVERYWHERE_CANDIDATES: Final = 50
"""In all conversations a word stands in many places that have nothing to do with each other."""

CODE_CANDIDATES: Final = 30
"""Passages with a name of the question: one in more places says little of any of them."""

DENSE_CANDIDATES: Final = 200
"""Nearest passages: their neighbours' vectors count too."""

DENSE_JUDGED: Final = 10
"""Nearest passages whose words are looked at too. The others keep what their vector says."""

COMMON_SHARE: Final = 0.01
"""A word that more passages than this share have is not searched for in all conversations when
rarer words are there."""

COMMON_FLOOR: Final = 200
"""Passages: in a small store no word is too common."""

MOST_PLACES: Final = 1000
"""Places of the rarest words, together, that are looked at in all conversations."""

PLACES: Final = 3000
"""The newest places of a word that are looked at in one conversation."""

NEAR: Final = 12
"""Passages on either side whose hits support each other: about an exchange and the next."""

SUPPORT: Final = 0.3
"""What the best hit nearby counts beside a hit's own score: a question about something that was
worked on mostly matches several messages of that work. In real sessions +1.7 points of recall@10
and +1.6 of NDCG@5, in six of seven repositories; from .2 to .4 and 10 to 16 passages alike."""

POOL: Final = 100
"""Hits that may support others."""

SHORTLIST: Final = 3
"""Times as many passages as asked for are fetched: the document's bias may lift some of them."""

BUDGET_TOKENS: Final = 1000
"""What a prompt has for memories."""

USUAL: Final = RecallOptions()

_STEPS: Final = tuple((step, weight**2) for step, weight in {0: 1.0, **NEIGHBOURS}.items())


def weights_set(options: RecallOptions) -> Weights:
    """Return the weights of the searches; one that is not set has its default.

    >>> weights_set(RecallOptions(rerank_beta=0.5)).beta
    0.5
    """
    given = {name: getattr(options, f"rerank_{name}") for name in ("alpha", "beta", "gamma")}
    return replace(DEFAULT, **{name: one for name, one in given.items() if one is not None})


@dataclass(frozen=True, slots=True)
class Hit:
    """A passage that was found. ``score`` compares within one recall: the best is about 1, or up
    to 1.3 where others nearby support it."""

    passage: Passage
    score: float
    parts: Fused
    elsewhere: bool
    """Of another conversation than the one asked about."""
    why: tuple[str, ...]
    cosine: float | None = None
    """Of its vector and the question's; None: it has none, or is not among the nearest."""


@dataclass(frozen=True, slots=True)
class Vector:
    """The vector of the question and the model that made it."""

    values: tuple[float, ...]
    model: str


@dataclass(frozen=True, slots=True)
class Recall:
    """What a recall found, and how."""

    question: Question
    hits: tuple[Hit, ...]
    summaries: tuple[tuple[Summary, float], ...]
    notes: tuple[str, ...]
    """What a user should know: a model that failed, words that were too common."""
    counts: Mapping[str, int]
    """Candidates of each search: lexical, code, dense."""
    timings_ms: Mapping[str, float]
    """Of each stage; "embedding" is the model's own time, which "total" leaves out."""
    flags: Mapping[str, bool]
    vector: Vector | None = field(default=None, repr=False)
    """Of the question, where there is an embedding model."""
    frequencies: Mapping[str, int] = field(default_factory=dict, repr=False)
    """In how many passages of the store each word of the question occurs."""

    def as_metric(self, *, profile: int = 0) -> dict[str, object]:
        """Return the record for the metrics: figures only, nothing of what was said."""
        inside = sum(not hit.elsewhere for hit in self.hits) if self.flags["in_conversation"] else 0
        return {
            "hits": len(self.hits),
            "counts": dict(self.counts),
            "found": {
                "conversation": inside,
                "elsewhere": len(self.hits) - inside,
                "summaries": len(self.summaries),
                "profile": profile,
            },
            "timings_ms": {stage: round(ms, 3) for stage, ms in self.timings_ms.items()},
            "top_scores": [round(hit.score, 4) for hit in self.hits[:5]],
            "flags": dict(self.flags),
        }


@dataclass(slots=True)
class Log:
    """What the stages of a search note while it runs."""

    notes: dict[str, None] = field(default_factory=dict)
    """Each once, in order."""
    counts: Counter[str] = field(default_factory=Counter)
    frequencies: Mapping[str, int] = field(default_factory=dict)
    times: defaultdict[str, float] = field(default_factory=lambda: defaultdict(float))
    started: float = field(default_factory=perf_counter)

    @contextmanager
    def stage(self, name: str) -> Iterator[None]:
        """Add the time spent inside to that of the stage."""
        started = perf_counter()
        try:
            yield
        finally:
            self.times[name] += (perf_counter() - started) * 1000.0

    def note(self, text: str) -> None:
        """Keep a note, once."""
        self.notes[text] = None

    @property
    def timings_ms(self) -> Mapping[str, float]:
        """The times of all stages; the total so far is without the model's."""
        spent = (perf_counter() - self.started) * 1000.0
        return {**self.times, "total": spent - self.times.get("embedding", 0.0)}


def recall(
    store: MessageSearch,
    query: str,
    *,
    session: str | None = None,
    document: str | None = None,
    limit: int = 10,
    options: RecallOptions = USUAL,
    embedder: Embedder | None = None,
    now: datetime | None = None,
    few: int = FEW,
    least_cosine: float = LEAST_COSINE,
) -> Recall:
    """Find what ``query`` is about, in the ``session`` first, then everywhere.

    ``document`` lifts hits of conversations about that document, and hides no others.
    "Yesterday" and the like count from ``now``. ``few``: with fewer hits all conversations are
    searched, 0 for never. Raises StoreError when the store cannot be read; an embedding model that
    fails is a note.
    """
    log = Log()
    question, weights = read_question(query, now=now), weights_set(options)
    by_meaning = options.hybrid and weights.alpha > 0.0
    vector = embed_question(store, embedder if by_meaning else None, question.text, log)
    search = _Search(store, question, options, weights, least_cosine, vector, document, log)
    with store.database.together():
        hits = search.run(session, limit=limit)
        widened = session is not None and len(hits) < min(few, limit)
        if widened:
            known = {hit.passage.chunk_id for hit in hits}
            others = search.run(None, limit=limit + len(known))
            hits += [replace(hit, elsewhere=True) for hit in others
                     if hit.passage.chunk_id not in known]  # fmt: skip
        summaries = search.summaries(session)
    return Recall(
        question=question,
        hits=tuple(hits[:limit]),
        summaries=summaries,
        notes=tuple(log.notes),
        counts=dict(log.counts),
        timings_ms=log.timings_ms,
        flags={
            "hybrid": options.hybrid,
            "chunking": options.chunking,
            "in_conversation": session is not None,
            "widened": widened,
            "embeddings": vector is not None,
            "for_code": question.asks_for_code,
        },
        vector=vector,
        frequencies=log.frequencies,
    )


@dataclass(frozen=True, slots=True)
class _Search:
    """What stays the same while one question is searched for in several scopes."""

    store: MessageSearch
    question: Question
    options: RecallOptions
    weights: Weights
    least_cosine: float
    vector: Vector | None
    document: str | None
    log: Log

    def run(self, within: str | None, *, limit: int) -> list[Hit]:
        """Return the best passages, best first: of one session, or (None) of all."""
        store, log = self.store, self.log
        names = self.question.identifiers if self.options.hybrid else ()
        with log.stage("lexical"):
            words, rarities = self._words(within)
        with log.stage("code"):
            code = store.search_identifiers(names, within, limit=CODE_CANDIDATES) if names else {}
        with log.stage("dense"):
            dense = search_vectors(store, self.vector, within, log, least=self.least_cosine)
        log.counts.update(lexical=len(words), code=len(code), dense=len(dense.hits))
        with log.stage("rerank"):
            candidates = tuple(dict.fromkeys((*words, *code, *islice(dense.hits, DENSE_JUDGED))))
            passages = self._passages(window(candidates))
            judged = rerank(self.question, candidates, passages, rarities)
        with log.stage("fusion"):
            fused = fuse(
                {one: result.score for one, result in judged.items()},
                code,
                dense.hits,
                weights=weights_for(self.weights, (one.tokens for one in passages.values())),
                dense_floor=dense.floor,
                least=dense.least,
            )
            return self._hits(fused, passages, judged, dense.hits, limit)

    def _words(self, within: str | None) -> tuple[list[int], Mapping[str, float]]:
        """Return passages with words of the question, and how rare each term is.

        In all conversations the most common words, which cost the most and tell the least, are
        left out.
        """
        total, _ = self.store.measure()
        counts = self.store.document_frequencies(self.question.words)
        often = {
            term.word: sum(counts.get(form, 0) for form in term.forms)
            for term in self.question.terms
        }
        rarities = {word: rarity(count, total) for word, count in often.items()}
        terms = [term for term in self.question.terms if often[term.word]]
        terms.sort(key=lambda term: often[term.word])
        kept = terms
        if within is None:
            common = max(COMMON_FLOOR, COMMON_SHARE * total)
            places = accumulate(often[term.word] for term in terms)
            kept = [
                term
                for term, so_far in zip(terms, places, strict=True)
                if often[term.word] <= common and so_far <= MOST_PLACES
            ] or terms[:1]
        if pruned := ", ".join(f"'{term.word}'" for term in terms if term not in kept):
            self.log.note(f"too common to search all conversations for: {pruned}")
        self.log.frequencies = often
        return self._promising(kept, rarities, within), rarities

    def _promising(
        self, terms: Sequence[Term], rarities: Mapping[str, float], within: str | None
    ) -> list[int]:
        """Return the passages whose words, and, less, whose neighbours' words, are the rarest."""
        most, limit = (
            (MOST_PLACES, EVERYWHERE_CANDIDATES) if within is None else (PLACES, CANDIDATES)
        )
        found = self.store.occurrences([term.forms for term in terms], within, limit=most)
        scores: defaultdict[int, float] = defaultdict(float)
        for term, place in zip(terms, found, strict=True):
            mean = sum(place.values()) / max(len(place), 1) or 1.0
            squares: defaultdict[int, float] = defaultdict(float)
            for one, tokens in place.items():
                worth = (2.0 / (2.0 - LENGTH + LENGTH * tokens / mean)) ** 2
                for step, weight in _STEPS:
                    squares[one - step] += weight * worth
            for one, square in squares.items():
                scores[one] += rarities[term.word] * math.sqrt(square)
        return [one for _, one in nlargest(limit, ((score, one) for one, score in scores.items()))]

    def _hits(
        self,
        fused: Mapping[int, Fused],
        passages: Mapping[int, Passage],
        judged: Mapping[int, Reranked],
        cosines: Mapping[int, float],
        limit: int,
    ) -> list[Hit]:
        best = sorted(fused, key=lambda one: (-fused[one].score, -one))
        if self.options.chunking:
            best = best[: max(SHORTLIST * limit, POOL)]
        known = {**passages, **self._passages([one for one in best if one not in passages])}
        about = set((self.document or "").splitlines())
        hits = []
        for one in best:
            if one not in known or fused[one].score <= 0.0:  # deleted meanwhile, or nothing
                continue
            passage = known[one]
            same = not about.isdisjoint((passage.document or "").splitlines())
            prompt = self.vector is not None and passage.role == "user" and passage.speaker is None
            score = fused[one].score * (DOCUMENT_BIAS if same else 1) * (PROMPT if prompt else 1)
            cosine = cosines.get(one)
            why = tuple(_reasons(fused[one], judged.get(one), cosine, same=same))
            hits.append(Hit(passage, score, fused[one], False, why, cosine))
        hits = _supported(hits)
        if self.options.chunking:
            return hits[:limit]
        first: dict[str, Hit] = {}  # each message in the place of its best passage
        for hit in hits:
            first.setdefault(hit.passage.message_id, hit)
        kept = {hit.passage.chunk_id: hit for hit in list(first.values())[:limit]}
        whole = self.store.passages([*kept], whole=True)
        return [replace(kept[one.chunk_id], passage=one) for one in whole]

    def _passages(self, ids: Sequence[int]) -> dict[int, Passage]:
        """Passages by their number, without those that only an earlier KDS indexed."""
        found = self.store.passages(ids) if ids else ()
        return {one.chunk_id: one for one in found if is_told(one.role, one.speaker)}

    def summaries(self, session: str | None) -> tuple[tuple[Summary, float], ...]:
        """Summaries speak for their own conversation only. Those with its words come first."""
        if session is None:
            return ()
        with self.log.stage("summaries"):
            words = " ".join(self.question.words)
            found = self.store.search_summaries(words, session, limit=SUMMARIES) if words else ()
            if self.vector is not None:
                near = self.store.near_summaries(
                    self.vector.values, session, model=self.vector.model, limit=SUMMARIES
                )
                known = {summary.id for summary, _ in found}
                found = (*found, *(one for one in near if one[0].id not in known))
            return found[:SUMMARIES]


def _supported(hits: Sequence[Hit]) -> list[Hit]:
    """The hits with what other messages of their stretch of the conversation add, best first."""
    at = {hit.passage.chunk_id: hit for hit in hits}

    def support(own: Passage) -> float:
        around = (at.get(own.chunk_id + step) for step in range(-NEAR, NEAR + 1))
        return max(
            (
                one.score
                for one in around
                if one
                and one.passage.session_id == own.session_id
                and one.passage.message_id != own.message_id
            ),
            default=0.0,
        )

    raised = [replace(hit, score=hit.score + SUPPORT * support(hit.passage)) for hit in hits]
    return sorted(raised, key=lambda hit: -hit.score)


def words_told(has: Sequence[str], near: Sequence[str]) -> Iterator[str]:
    """Yield which words of a question a passage has, and which only stand beside it."""
    if has:
        yield "has " + ", ".join(f"'{word}'" for word in has)
    if near:
        yield "beside it stands " + ", ".join(f"'{word}'" for word in near)


def _reasons(
    fused: Fused, found: Reranked | None, cosine: float | None, *, same: bool
) -> Iterator[str]:
    """Yield the reasons of one hit, the strongest kind of evidence first."""
    if fused.code > 0.0:
        yield f"identifiers {fused.code:.2f}: holds a name of the question"
    if found is not None and fused.lexical > 0.0:
        told = "; ".join(words_told(found.words, found.near)) or "near what was asked"
        yield f"words {fused.lexical:.2f}: {told}"
        yield from found.notes
    if cosine is not None:
        yield f"meaning {fused.dense or 0.0:.2f}: cosine {cosine:.2f}"
    if same:
        yield f"x{DOCUMENT_BIAS:g}: of the same document"


@dataclass(frozen=True, slots=True)
class DenseHits:
    """The nearest passages by cosine."""

    hits: Scores = field(default_factory=dict)
    floor: float | None = None
    """The cosine that no other passage exceeds; None when the others have no vector."""
    least: float = -1.0
    """The cosine of passages that nothing but their vector found."""


def embed_question(
    store: PassageStore, embedder: Embedder | None, text: str, log: Log
) -> Vector | None:
    """Ask the model for the vector of a question; None, and a note, when that fails.

    The shipped one is not loaded for a store without its vectors.
    """
    if embedder is None or not text.strip():
        return None
    if embedder.name == SHIPPED and not store.has_vectors(SHIPPED):
        return None
    values: tuple[float, ...] = ()
    note = "the embedding model gave no usable vector; words only"
    with log.stage("embedding"):
        try:
            values = tuple(map(float, embedder.embed_query(text)))
        except Exception as error:  # noqa: BLE001  # foreign code: an outage must not stop a recall
            note = f"the embedding model failed ({type(error).__name__}: {error}); words only"
    if not any(values) or not all(map(math.isfinite, values)):
        log.note(note)
        return None
    return Vector(values, embedder.name)


def search_vectors(
    store: PassageStore,
    vector: Vector | None,
    within: str | None,
    log: Log,
    *,
    limit: int = DENSE_CANDIDATES,
    least: float = LEAST_COSINE,
) -> DenseHits:
    """Collect the nearest passages; a store that cannot is a note, not an error."""
    if vector is None:
        return DenseHits()
    try:
        hits = store.search_dense(vector.values, within, model=vector.model, limit=limit)
    except StoreError as error:
        log.note(f"no search by meaning: {error.message}; words only")
        return DenseHits()
    if not hits:
        log.note(f"no vectors of '{vector.model}' here yet; words only")
    floor = [*hits.values()][-1] if len(hits) >= limit else None
    return DenseHits(hits, floor, least if vector.model == SHIPPED else -1.0)


@dataclass(frozen=True, slots=True)
class Assembled:
    """A text for a prompt, what it is made of, and what did not fit."""

    text: str
    tokens: int
    budget_tokens: int
    used: tuple[Hit, ...]
    left_out: tuple[Hit, ...]

    @property
    def notes(self) -> tuple[str, ...]:
        """Say what was left out; nothing when everything fitted."""
        if not self.left_out:
            return ()
        count, tokens = len(self.left_out), sum(hit.passage.tokens for hit in self.left_out)
        what = "1 passage" if count == 1 else f"{count} passages"
        return (f"left out for {self.budget_tokens} tokens: {what} of {tokens} tokens",)


def quoted(passage: Passage) -> str:
    """Return a passage behind its date and speaker."""
    who = passage.speaker or passage.role
    return f"[{passage.at:%Y-%m-%d}, {who}]\n{passage.body.strip()}"


def assemble(
    query: str,
    hits: Sequence[Hit],
    *,
    budget_tokens: int = BUDGET_TOKENS,
    count: TokenCounter = estimate_tokens,
    quote: Callable[[Passage], str] = quoted,
) -> Assembled:
    """Take as many of ``hits`` as the budget holds, each as ``quote`` writes it.

    A passage is taken whole or left out; what follows may still fit. The text as a whole is
    counted, and never exceeds the budget. A question about code gets code first. The same text is
    not quoted twice.
    """
    used: dict[str, Hit] = {}
    left_out: list[Hit] = []
    text, tokens = "", 0
    code_first = read_question(query).asks_for_code
    for hit in sorted(hits, key=lambda hit: code_first and hit.passage.kind != "code"):
        if hit.passage.body in used:
            continue
        longer = "\n\n".join(filter(None, (text, quote(hit.passage))))
        if (needed := count(longer)) > budget_tokens:
            left_out.append(hit)
            continue
        text, tokens = longer, needed
        used[hit.passage.body] = hit
    return Assembled(text, tokens, budget_tokens, tuple(used.values()), tuple(left_out))
