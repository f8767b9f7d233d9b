"""Recall: the chunks of past conversations that a question is about, best first, with reasons.

Words, identifiers and (with an embedding model) meaning are searched, what they found is judged
in its surroundings, and the scores are fused (`hybrid`). The conversation at hand comes first;
only when it has too little do the others follow. Nothing here changes the store.
"""

from dataclasses import replace
from datetime import datetime
from time import perf_counter

from kds.brain.passages.dense import embed_question
from kds.brain.passages.hybrid import Log, Search, Vector
from kds.brain.passages.query import Question, read_question
from kds.brain.passages.recalled import Hit, Recall, RecallSettings
from kds.brain.passages.store import Embedder, MemoryStore
from kds.brain.passages.values import EVERYWHERE, Scope, Summary

DEFAULT_SETTINGS = RecallSettings()


def recall(
    store: MemoryStore,
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
    vector = _vector(embedder, question, settings, log)
    search = Search(store, question, settings, vector, scope.document, log)
    hits = search.run(Scope(session_id=scope.session_id), limit=limit)
    widened = scope.session_id is not None and len(hits) < min(settings.few, limit)
    if widened:
        hits += _elsewhere(search, hits, limit)
    summaries = _summaries(search, scope)
    total = (perf_counter() - started) * 1000.0 - log.timings_ms.get("embedding", 0.0)
    return Recall(
        question=question,
        hits=tuple(hits[:limit]),
        summaries=summaries,
        notes=tuple(log.notes),
        counts=dict(log.counts),
        timings_ms=log.timings_ms | {"total": total},
        flags={
            "hybrid": settings.hybrid,
            "surroundings": settings.surroundings,
            "chunking": settings.chunking,
            "in_conversation": scope.session_id is not None,
            "widened": widened,
            "embeddings": vector is not None,
            "for_code": question.asks_for_code,
        },
    )


def _vector(
    embedder: Embedder | None, question: Question, settings: RecallSettings, log: Log
) -> Vector | None:
    if embedder is None or not settings.hybrid or not settings.weights.alpha:
        return None
    if not question.text.strip():
        return None
    found = embed_question(embedder, question.text)
    log.timings_ms["embedding"] = found.ms
    log.note(found.note)
    return Vector(found.values, embedder.name) if found.values is not None else None


def _elsewhere(search: Search, known: list[Hit], limit: int) -> list[Hit]:
    ids = {hit.passage.chunk_id for hit in known}
    others = search.run(EVERYWHERE, limit=limit + len(ids))
    return [replace(hit, elsewhere=True) for hit in others if hit.passage.chunk_id not in ids]


def _summaries(search: Search, scope: Scope) -> tuple[tuple[Summary, float], ...]:
    """Summaries speak for their own conversation only."""
    if scope.session_id is None or not search.settings.summaries or not search.question.words:
        return ()
    with search.log.stage("summaries"):
        words = " ".join(search.question.words)
        return search.store.search_summaries(
            words, scope.session_id, limit=search.settings.summaries
        )
