"""Measures recall on conversations with known answers: recall@5, recall@10, NDCG@5, time.

Every query is put to its own conversation. Relevance is per message and yes or no: recall@k is
the share of a query's relevant messages among the first k, NDCG@5 weighs them by their place
(1/log2(place + 1)) against the best order there is. Both are means over queries.
"""

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Final

from kds.api.measures import mean, percentile, rounded
from kds.brain.passages.fusion import Weights, weigh
from kds.brain.passages.recall import recall
from kds.brain.passages.recalled import Hit, RecallSettings
from kds.brain.passages.store import Embedder
from kds.brain.passages.values import Scope
from kds.brain.sessions.memory_store import MemoryStore
from kds.evaluation.retrieval_data import Conversation, RetrievalQuery

POOL: Final = 60
"""Chunks kept of each query where weights are tried: none of the first ten lies behind these."""

DEPTH: Final = 10

_BETWEEN: Final = "/"


@dataclass(frozen=True, slots=True)
class Retrieved:
    """A query, the hits it got, and the milliseconds without the embedding model's own."""

    query: RetrievalQuery
    hits: tuple[Hit, ...]
    ms: float

    def found(self, weights: Weights | None = None) -> tuple[str, ...]:
        """Return the ids of the messages found, best first; under other weights when given."""
        hits = self.hits if weights is None else _reweighed(self.hits, weights)
        return tuple(dict.fromkeys(map(_message_id, hits)))


@dataclass(frozen=True, slots=True)
class Ranking:
    """Means over queries, in [0, 1]; None when there is no query."""

    queries: int
    recall_at_5: float | None
    recall_at_10: float | None
    ndcg_at_5: float | None


@dataclass(frozen=True, slots=True)
class RetrievalScore:
    """How a set of queries came out; categories as the file names them."""

    overall: Ranking
    by_category: Mapping[str, Ranking]
    ms_p50: float
    ms_p95: float

    def as_dict(self) -> dict[str, object]:
        """The object that `kds eval retrieval --json` prints: four decimals are enough."""
        whole = asdict(self)
        return rounded(whole.pop("overall") | whole)


def store_conversation(store: MemoryStore, conversation: Conversation) -> None:
    """Put a conversation into the store, as if it had been held there."""
    store.create_session(session_id=conversation.id)
    for said in conversation.messages:
        if said.content.strip():
            store.append(
                conversation.id,
                said.role,
                said.content,
                at=said.at,
                speaker=said.speaker,
                message_id=f"{conversation.id}{_BETWEEN}{said.id}",
            )


def retrieve(
    store: MemoryStore,
    query: RetrievalQuery,
    *,
    settings: RecallSettings,
    embedder: Embedder | None = None,
    pool: int | None = None,
) -> Retrieved:
    """Ask one query, and keep ``pool`` chunks, else what ten messages may need."""
    found = recall(
        store,
        query.query,
        scope=Scope(session_id=query.conversation),
        limit=pool or 2 * DEPTH,
        settings=settings,
        embedder=embedder,
    )
    return Retrieved(query, found.hits, found.timings_ms["total"])


def score_retrieval(retrieved: Sequence[Retrieved]) -> RetrievalScore:
    """Add up what `kds eval retrieval` reports."""
    times = [one.ms for one in retrieved]
    names = sorted({one.query.category for one in retrieved if one.query.category is not None})
    return RetrievalScore(
        ranking(retrieved),
        {name: ranking([one for one in retrieved if one.query.category == name]) for name in names},
        percentile(times, 50),
        percentile(times, 95),
    )


def ranking(retrieved: Iterable[Retrieved], weights: Weights | None = None) -> Ranking:
    """Return the means over queries."""
    rows = [_measured(one, weights) for one in retrieved]
    return Ranking(
        len(rows),
        mean(row[0] for row in rows),
        mean(row[1] for row in rows),
        mean(row[2] for row in rows),
    )


def recall_at(found: Sequence[str], relevant: frozenset[str], depth: int) -> float:
    """Return the share of the relevant messages that are among the first ones found.

    >>> recall_at(["a", "b", "c"], frozenset({"b", "x"}), 2)
    0.5
    """
    return len(relevant.intersection(found[:depth])) / len(relevant)


def ndcg_at(found: Sequence[str], relevant: frozenset[str], depth: int) -> float:
    """Return the discounted gain of what was found, out of the best possible.

    >>> round(ndcg_at(["x", "a"], frozenset({"a"}), 5), 3)
    0.631
    """
    gains = (_discount(place) for place, one in enumerate(found[:depth]) if one in relevant)
    return sum(gains) / sum(map(_discount, range(min(depth, len(relevant)))))


def _measured(one: Retrieved, weights: Weights | None) -> tuple[float, float, float]:
    found, relevant = one.found(weights), frozenset(one.query.relevant)
    return (
        recall_at(found, relevant, 5),
        recall_at(found, relevant, 10),
        ndcg_at(found, relevant, 5),
    )


def _discount(place: int) -> float:
    return 1.0 / math.log2(place + 2)


def _reweighed(hits: Sequence[Hit], weights: Weights) -> Iterator[Hit]:
    named = any(hit.parts.code for hit in hits)
    return iter(sorted(hits, key=lambda hit: -weigh(hit.parts, weights, named=named)))


def _message_id(hit: Hit) -> str:
    return hit.passage.message_id.removeprefix(f"{hit.passage.session_id}{_BETWEEN}")
