"""Recall: the chunks of past conversations that a question is about, best first, with reasons.

Words, identifiers and (with an embedding model) meaning are searched, what they found is judged
in its surroundings, and the scores are fused (`hybrid`). The conversation at hand comes first;
only when it has too little do the others follow. Nothing here changes the store.
"""

from dataclasses import replace
from datetime import datetime
from time import perf_counter

from kds.brain.passages.dense import embed_question
from kds.brain.passages.hybrid import Search
from kds.brain.passages.query import read_question
from kds.brain.passages.recalled import SUMMARIES, Hit, Log, Recall, RecallSettings
from kds.brain.passages.store import Embedder, MessageSearch
from kds.brain.passages.values import EVERYWHERE, Scope, Summary

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
    )


def _elsewhere(search: Search, known: list[Hit], limit: int) -> list[Hit]:
    ids = {hit.passage.chunk_id for hit in known}
    others = search.run(None, limit=limit + len(ids))
    return [replace(hit, elsewhere=True) for hit in others if hit.passage.chunk_id not in ids]


def _summaries(search: Search, scope: Scope) -> tuple[tuple[Summary, float], ...]:
    """Summaries speak for their own conversation only."""
    if scope.session_id is None or not search.question.words:
        return ()
    with search.log.stage("summaries"):
        words = " ".join(search.question.words)
        return search.store.search_summaries(words, scope.session_id, limit=SUMMARIES)
