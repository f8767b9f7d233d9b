"""One search of one scope: candidates of every kind, judged, fused and explained."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from time import perf_counter
from typing import Final

from kds.brain.passages.code_search import search_code
from kds.brain.passages.dense import DenseHits, search_vectors
from kds.brain.passages.explanation import explain
from kds.brain.passages.fusion import Fused, fuse
from kds.brain.passages.lexical import LexicalHits, search_words
from kds.brain.passages.query import Question
from kds.brain.passages.recalled import Hit, RecallSettings
from kds.brain.passages.rerank import Reranked, rerank, window
from kds.brain.passages.store import MemoryStore
from kds.brain.passages.values import Passage, Scope, Scored

DENSE_JUDGED: Final = 10
"""Nearest chunks whose words are looked at too. The others keep what their vector says."""

SHORTLIST: Final = 3
"""Times as many chunks as asked for are fetched: the document's bias may lift some of them."""


@dataclass(frozen=True, slots=True)
class Vector:
    """The vector of the question and the model that made it."""

    values: tuple[float, ...]
    model: str


@dataclass(slots=True)
class Log:
    """What the stages of a recall note while it runs."""

    notes: list[str] = field(default_factory=list)
    counts: Counter[str] = field(default_factory=Counter)
    timings_ms: dict[str, float] = field(default_factory=dict)

    @contextmanager
    def stage(self, name: str) -> Iterator[None]:
        """Add the time of what is done inside to that of the stage."""
        started = perf_counter()
        try:
            yield
        finally:
            spent = (perf_counter() - started) * 1000.0
            self.timings_ms[name] = self.timings_ms.get(name, 0.0) + spent

    def note(self, text: str | None) -> None:
        """Keep a note, once."""
        if text and text not in self.notes:
            self.notes.append(text)


@dataclass(frozen=True, slots=True)
class Search:
    """What stays the same while one question is searched for in several scopes."""

    store: MemoryStore
    question: Question
    settings: RecallSettings
    vector: Vector | None
    document: str | None
    log: Log

    def run(self, scope: Scope, *, limit: int) -> list[Hit]:
        """Return the best chunks of the scope, best first."""
        with self.log.stage("lexical"):
            words = search_words(self.store, self.question, scope)
        with self.log.stage("code"):
            code = self._code(scope)
        with self.log.stage("dense"):
            dense = self._dense(scope)
        self._count(words, code, dense)
        with self.log.stage("rerank"):
            passages, judged = self._judged(words, code, dense)
        with self.log.stage("fusion"):
            fused = self._fused(words, judged, code, dense)
            return self._hits(fused, passages, judged, dense, limit=limit)

    def _code(self, scope: Scope) -> tuple[Scored, ...]:
        return search_code(self.store, self.question, scope) if self.settings.hybrid else ()

    def _dense(self, scope: Scope) -> DenseHits:
        if self.vector is None:
            return DenseHits()
        found = search_vectors(self.store, self.vector.values, scope, model=self.vector.model)
        self.log.note(found.note)
        return found

    def _count(self, words: LexicalHits, code: Sequence[Scored], dense: DenseHits) -> None:
        self.log.counts.update(lexical=len(words.hits), code=len(code), dense=len(dense.hits))
        if words.pruned:
            listed = ", ".join(f"'{word}'" for word in words.pruned)
            self.log.note(f"too common to search all conversations for: {listed}")

    def _judged(
        self, words: LexicalHits, code: Sequence[Scored], dense: DenseHits
    ) -> tuple[dict[int, Passage], dict[int, Reranked]]:
        if not self.settings.surroundings:
            return {}, {}
        found = (*words.hits, *code, *dense.hits[:DENSE_JUDGED])
        candidates = tuple(dict.fromkeys(hit.chunk_id for hit in found))
        passages = self._passages(window(candidates))
        return passages, rerank(self.question, candidates, passages, words.rarities)

    def _fused(
        self,
        words: LexicalHits,
        judged: Mapping[int, Reranked],
        code: Sequence[Scored],
        dense: DenseHits,
    ) -> dict[int, Fused]:
        lexical = {one: found.score for one, found in judged.items()}
        if not self.settings.surroundings:
            lexical = {hit.chunk_id: hit.score for hit in words.hits}
        return fuse(
            lexical,
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
        biases = self._biases(passages[one].session_id for one in best if one in passages)
        hits = []
        for one in best:
            if one not in passages or fused[one].score <= 0.0:  # deleted meanwhile, or nothing
                continue
            bias = biases[passages[one].session_id]
            why = explain(fused[one], judged.get(one), cosine=cosines.get(one), bias=bias)
            hits.append(Hit(passages[one], fused[one].score * bias, fused[one], False, why))
        hits.sort(key=lambda hit: -hit.score)
        if self.settings.chunking:
            return hits[:limit]
        return [self._whole(hit) for hit in _one_a_message(hits)[:limit]]

    def _whole(self, hit: Hit) -> Hit:
        """Put the message in the place of its chunk."""
        message = self.store.message(hit.passage.message_id)
        passage = replace(hit.passage, body=message.content, tokens=message.tokens)
        return replace(hit, passage=passage)

    def _passages(self, ids: Sequence[int]) -> dict[int, Passage]:
        return {passage.chunk_id: passage for passage in self.store.passages(ids)} if ids else {}

    def _biases(self, sessions: Iterator[str]) -> dict[str, float]:
        biases = dict.fromkeys(sessions, 1.0)
        if self.document is None or self.settings.document_bias == 1.0:
            return biases
        for name in biases:
            session = self.store.find_session(name)
            if session is not None and session.document_context == self.document:
                biases[name] = self.settings.document_bias
        return biases


def _one_a_message(hits: Sequence[Hit]) -> list[Hit]:
    kept: dict[str, Hit] = {}
    for hit in hits:
        kept.setdefault(hit.passage.message_id, hit)
    return list(kept.values())
