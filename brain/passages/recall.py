"""Recall: the chunks of past conversations that a question is about, best first, with reasons.

Words, identifiers and (with an embedding model) meaning are searched, what they found is judged
in its surroundings, and the scores are fused and explained. The conversation at hand comes first;
only when it has too little do the others follow. Nothing here changes the store.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from time import perf_counter
from typing import Final

from kds.brain.passages.dense import DenseHits, Vector, embed_question, search_vectors
from kds.brain.passages.fusion import Fused, fuse
from kds.brain.passages.lexical import LexicalHits, search_words
from kds.brain.passages.query import Question, read_question
from kds.brain.passages.recalled import SUMMARIES, Hit, Log, Recall, RecallSettings, words_told
from kds.brain.passages.rerank import Reranked, rerank, window
from kds.brain.passages.store import Embedder, MessageSearch
from kds.brain.passages.values import EVERYWHERE, Passage, Scope, Scored, Summary

DENSE_JUDGED: Final = 10
"""Nearest chunks whose words are looked at too. The others keep what their vector says."""

CODE_CANDIDATES: Final = 30
"""Passages with a name of the question: one in more places says little of any of them."""

SHORTLIST: Final = 3
"""Times as many chunks as asked for are fetched: the document's bias may lift some of them."""

DEFAULT_SETTINGS = RecallSettings()


def recall(
    store: MessageSearch,
    query: str,
    *,
    scope: Scope = EVERYWHERE,
    limit: int = 10,
    settings: RecallSettings = DEFAULT_SETTINGS,
    embedder: Embedder | None = None,
    now: datetime | None = None,
) -> Recall:
    """Find what ``query`` is about, in the session of ``scope`` first, then everywhere.

    ``scope.document`` lifts hits of conversations about that document, and hides no others.
    "Yesterday" and the like count from ``now``. Raises StoreError when the store cannot be
    read; an embedding model that fails is a note.
    """
    started = perf_counter()
    log = Log()
    question = read_question(query, now=now)
    by_meaning = settings.hybrid and settings.weights.alpha > 0.0
    vector = embed_question(embedder if by_meaning else None, question.text, log)
    search = Search(store, question, settings, vector, scope.document, log)
    hits = search.run(scope.session_id, limit=limit)
    widened = scope.session_id is not None and len(hits) < min(settings.few, limit)
    if widened:
        hits += _elsewhere(search, hits, limit)
    summaries = _summaries(search, scope)
    return Recall(
        question=question,
        hits=tuple(hits[:limit]),
        summaries=summaries,
        notes=tuple(log.notes),
        counts=dict(log.counts),
        timings_ms=log.timings_ms | {"total": log.total_ms(started)},
        flags={
            "hybrid": settings.hybrid,
            "chunking": settings.chunking,
            "in_conversation": scope.session_id is not None,
            "widened": widened,
            "embeddings": vector is not None,
            "for_code": question.asks_for_code,
        },
        vector=vector,
    )


@dataclass(frozen=True, slots=True)
class Search:
    """What stays the same while one question is searched for in several scopes."""

    store: MessageSearch
    question: Question
    settings: RecallSettings
    vector: Vector | None
    document: str | None
    log: Log

    def run(self, within: str | None, *, limit: int) -> list[Hit]:
        """Return the best passages, best first: of one session, or (None) of all."""
        with self.log.stage("lexical"):
            words = search_words(self.store, self.question, within)
        with self.log.stage("code"):
            code = self._code(within)
        with self.log.stage("dense"):
            dense = search_vectors(self.store, self.vector, within, self.log)
        self._count(words, code, dense)
        with self.log.stage("rerank"):
            passages, judged = self._judged(words, code, dense)
        with self.log.stage("fusion"):
            fused = self._fused(judged, code, dense)
            return self._hits(fused, passages, judged, dense, limit=limit)

    def _code(self, within: str | None) -> tuple[Scored, ...]:
        names = self.question.identifiers
        if not (self.settings.hybrid and names):
            return ()
        return self.store.search_identifiers(names, within, limit=CODE_CANDIDATES)

    def _count(self, words: LexicalHits, code: Sequence[Scored], dense: DenseHits) -> None:
        self.log.counts.update(lexical=len(words.hits), code=len(code), dense=len(dense.hits))
        if words.pruned:
            listed = ", ".join(f"'{word}'" for word in words.pruned)
            self.log.note(f"too common to search all conversations for: {listed}")

    def _judged(
        self, words: LexicalHits, code: Sequence[Scored], dense: DenseHits
    ) -> tuple[dict[int, Passage], dict[int, Reranked]]:
        found = (*words.hits, *code, *dense.hits[:DENSE_JUDGED])
        candidates = tuple(dict.fromkeys(hit.chunk_id for hit in found))
        passages = self._passages(window(candidates))
        return passages, rerank(self.question, candidates, passages, words.rarities)

    def _fused(
        self,
        judged: Mapping[int, Reranked],
        code: Sequence[Scored],
        dense: DenseHits,
    ) -> dict[int, Fused]:
        return fuse(
            {one: found.score for one, found in judged.items()},
            {hit.chunk_id: hit.score for hit in code},
            {hit.chunk_id: hit.score for hit in dense.hits},
            weights=self.settings.weights,
            dense_floor=dense.floor,
        )

    def _hits(
        self,
        fused: Mapping[int, Fused],
        passages: dict[int, Passage],
        judged: Mapping[int, Reranked],
        dense: DenseHits,
        *,
        limit: int,
    ) -> list[Hit]:
        best = sorted(fused, key=lambda one: (-fused[one].score, -one))
        if self.settings.chunking:
            best = best[: SHORTLIST * limit]
        passages = passages | self._passages([one for one in best if one not in passages])
        cosines = {hit.chunk_id: hit.score for hit in dense.hits}
        hits = []
        for one in best:
            if one not in passages or fused[one].score <= 0.0:  # deleted meanwhile, or nothing
                continue
            bias = self._bias(passages[one])
            why = explain(fused[one], judged.get(one), cosine=cosines.get(one), bias=bias)
            hits.append(Hit(passages[one], fused[one].score * bias, fused[one], False, why))
        hits.sort(key=lambda hit: -hit.score)
        if self.settings.chunking:
            return hits[:limit]
        return self._whole(_one_a_message(hits)[:limit])

    def _whole(self, hits: Sequence[Hit]) -> list[Hit]:
        """Put each message in the place of its passage."""
        found = self.store.passages([hit.passage.chunk_id for hit in hits], whole=True)
        messages = {one.chunk_id: one for one in found}
        return [
            replace(hit, passage=messages[hit.passage.chunk_id])
            for hit in hits
            if hit.passage.chunk_id in messages
        ]

    def _passages(self, ids: Sequence[int]) -> dict[int, Passage]:
        """Passages by their number, but for what the system said: an earlier KDS indexed that."""
        found = self.store.passages(ids) if ids else ()
        return {one.chunk_id: one for one in found if one.role != "system"}

    def _bias(self, passage: Passage) -> float:
        about = set((passage.document or "").splitlines())
        preferred = not about.isdisjoint((self.document or "").splitlines())
        return self.settings.document_bias if preferred else 1.0


def _elsewhere(search: Search, known: list[Hit], limit: int) -> list[Hit]:
    ids = {hit.passage.chunk_id for hit in known}
    others = search.run(None, limit=limit + len(ids))
    return [replace(hit, elsewhere=True) for hit in others if hit.passage.chunk_id not in ids]


def _summaries(search: Search, scope: Scope) -> tuple[tuple[Summary, float], ...]:
    """Summaries speak for their own conversation only. Those with its words come first."""
    session, vector, store = scope.session_id, search.vector, search.store
    if session is None:
        return ()
    with search.log.stage("summaries"):
        words = " ".join(search.question.words)
        found = store.search_summaries(words, session, limit=SUMMARIES) if words else ()
        if vector is not None:
            model = vector.model
            near = store.near_summaries(vector.values, session, model=model, limit=SUMMARIES)
            known = {summary.id for summary, _ in found}
            found = (*found, *(one for one in near if one[0].id not in known))
        return found[:SUMMARIES]


def _one_a_message(hits: Sequence[Hit]) -> list[Hit]:
    kept: dict[str, Hit] = {}
    for hit in hits:
        kept.setdefault(hit.passage.message_id, hit)
    return list(kept.values())


def explain(
    fused: Fused, found: Reranked | None, *, cosine: float | None, bias: float
) -> tuple[str, ...]:
    """Return the reasons of one hit, the strongest kind of evidence first.

    >>> explain(Fused(0.9, None, 1.0, 0.0), Reranked(7.2, ("port",), ("staging",), ()),
    ...     cosine=None, bias=1.0)
    ("words 1.00: has 'port'; beside it stands 'staging'",)
    """
    return tuple(_lines(fused, found, cosine, bias))


def _lines(
    fused: Fused, found: Reranked | None, cosine: float | None, bias: float
) -> Iterator[str]:
    if fused.code > 0.0:
        yield f"identifiers {fused.code:.2f}: holds a name of the question"
    if found is not None and fused.lexical > 0.0:
        told = "; ".join(words_told(found.words, found.near)) or "near what was asked"
        yield f"words {fused.lexical:.2f}: {told}"
        yield from found.notes
    if cosine is not None:
        yield f"meaning {fused.dense or 0.0:.2f}: cosine {cosine:.2f}"
    if bias != 1.0:
        yield f"x{bias:g}: of the same document"
