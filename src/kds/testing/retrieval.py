"""Measures recall on conversations with known answers, and tunes the weights of its ranking.

docs/evaluation.md has the form of the file. Every query is asked in its own conversation. recall@k
is the share of a query's relevant messages among the first k; NDCG@5 weighs them by their place
(1/log2(place + 1)) against the best order.
"""

import math
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Annotated, Any, Final

from pydantic import BeforeValidator, Field, field_validator

from kds.api.measures import mean, percentile, rounded
from kds.brain.errors import ExampleFileError, Problem
from kds.brain.memory.memory_store import MemoryStore
from kds.brain.passages.recall import Hit, RecallSettings, recall
from kds.brain.passages.rerank import Weights, weigh
from kds.brain.passages.store import Embedder
from kds.brain.passages.values import Role, Scope
from kds.testing.example_files import SHOWN_PROBLEMS, Loose, fitted, listed, parse_json, text_of

RETRIEVAL_FORM: Final = (
    '{"conversations": [{"id": "c1", "messages": [{"id": "m1", "role": "user", '
    '"content": "Staging listens on port 8081."}]}], '
    '"queries": [{"conversation": "c1", "query": "Which port has staging?", "relevant": ["m1"]}]}'
)

EPOCH: Final = datetime(2020, 1, 1, tzinfo=UTC)
"""Start of conversations without times: their messages follow each other by a minute."""

LOCOMO_TIME: Final = "%I:%M %p on %d %B, %Y"
"""Accepted beside ISO 8601."""

LIMIT: Final = 40
"""Chunks kept of each query: as many as ten messages may need."""

POOL: Final = 60
"""Those where weights are searched."""

ALPHAS: Final = tuple(step / 20 for step in range(15))
"""Weights of meaning to try: 0 to 0.7."""

GAMMAS: Final = (0.0, 0.05, 0.1, 0.15, 0.2, 0.3, 0.4)
"""Weights of identifiers to try. Words get the rest, up to 1."""

NOTICEABLE: Final = 0.0005
"""The least gain in NDCG@5 that changes the weights: half of a rounding."""

_BETWEEN: Final = "/"


def _text(value: Any) -> Any:
    return str(value) if isinstance(value, int | float) and not isinstance(value, bool) else value


def _moment(value: Any) -> Any:
    if not isinstance(value, str):
        return value
    try:
        found = datetime.fromisoformat(value.strip())
    except ValueError:
        try:
            found = datetime.strptime(value.strip(), LOCOMO_TIME)  # in UTC, below
        except ValueError:
            raise ValueError("must be a time, such as 2025-11-03 09:00:00") from None
    return found if found.tzinfo else found.replace(tzinfo=UTC)


_Name = Annotated[str, BeforeValidator(_text), Field(min_length=1)]


class Message(Loose):
    """A message of a conversation; its ``id`` is unique there only."""

    id: _Name
    role: Role = "user"
    speaker: str | None = None
    at: Annotated[datetime | None, BeforeValidator(_moment)] = None
    content: str


class Conversation(Loose):
    """Messages in order."""

    id: _Name
    messages: list[Message] = Field(min_length=1)

    @field_validator("messages")
    @classmethod
    def _timed(cls, messages: list[Message]) -> list[Message]:
        return [
            one if one.at else one.model_copy(update={"at": EPOCH + timedelta(minutes=number)})
            for number, one in enumerate(messages)
        ]


class RetrievalQuery(Loose):
    """A question about one conversation, and the ids of the messages that answer it.

    Without such a message it is left out of the figures: they are shares of what there is to find.
    """

    conversation: _Name
    query: str = Field(min_length=1)
    relevant: Annotated[tuple[_Name, ...], BeforeValidator(listed)]
    category: Annotated[str | None, BeforeValidator(_text)] = None


class RetrievalSet(Loose):
    """The contents of a file."""

    conversations: list[Conversation] = Field(min_length=1)
    queries: list[RetrievalQuery] = Field(min_length=1)

    def __getitem__(self, some: slice) -> "RetrievalSet":
        """All conversations, with some of the queries."""
        return self.model_copy(update={"queries": self.queries[some]})


def read_retrieval(path: Path) -> RetrievalSet:
    """Read a file, JSON. Raises ExampleFileError with all its problems."""
    data = parse_json(text_of(path), path, RETRIEVAL_FORM, ExampleFileError)
    found = fitted(data, path, RetrievalSet, RETRIEVAL_FORM)
    hint = "name each once, and only what is there"
    problems = [Problem(f"{path}:1", said, hint) for said in _misnamed(found)]
    answered = [query for query in found.queries if query.relevant]
    if not answered and not problems:
        hint = "name the messages that answer, in 'relevant'"
        problems = [Problem(str(path), "no query has an answer", hint)]
    if problems:
        raise ExampleFileError(problems[:SHOWN_PROBLEMS])
    return found.model_copy(update={"queries": answered})


def _misnamed(file: RetrievalSet) -> Iterator[str]:
    """Yield what validates piece by piece and still does not fit together."""
    known: dict[str, Counter[str]] = {}
    for one in file.conversations:
        if one.id in known:
            yield f"there are several conversations '{one.id}'"
        known[one.id] = Counter(said.id for said in one.messages)
        for name in (name for name, count in known[one.id].items() if count > 1):
            yield f"conversation '{one.id}' has several messages '{name}'"
    for number, query in enumerate(file.queries, start=1):
        if query.conversation not in known:
            yield f"queries, item {number}: there is no conversation '{query.conversation}'"
            continue
        for name in sorted(set(query.relevant) - known[query.conversation].keys()):
            yield f"queries, item {number}: there is no message '{name}'"


def store_conversation(store: MemoryStore, conversation: Conversation) -> None:
    """Put a conversation into the store, as if it had been held there."""
    store.create_session(session_id=conversation.id)
    for one in (one for one in conversation.messages if one.content.strip()):
        store.append(
            conversation.id, one.role, one.content, at=one.at, speaker=one.speaker,
            message_id=f"{conversation.id}{_BETWEEN}{one.id}",
        )  # fmt: skip


@dataclass(frozen=True, slots=True)
class Retrieved:
    """A query, its hits, and the milliseconds without the embedding model's own."""

    query: RetrievalQuery
    hits: tuple[Hit, ...]
    ms: float

    def found(self, weights: Weights | None = None) -> tuple[str, ...]:
        """Return the ids of the messages found, best first; under other weights when given."""
        hits: Sequence[Hit] = self.hits
        if weights is not None:
            named = any(hit.parts.code for hit in hits)
            hits = sorted(hits, key=lambda hit: -weigh(hit.parts, weights, named=named))
        passages = (hit.passage for hit in hits)
        ids = (one.message_id.removeprefix(f"{one.session_id}{_BETWEEN}") for one in passages)
        return tuple(dict.fromkeys(ids))


def retrieve(
    store: MemoryStore, query: RetrievalQuery, *, settings: RecallSettings,
    embedder: Embedder | None, pool: int,
) -> Retrieved:  # fmt: skip
    """Ask one query, and keep ``pool`` chunks."""
    scope = Scope(session_id=query.conversation)
    found = recall(
        store, query.query, scope=scope, limit=pool, settings=settings, embedder=embedder
    )
    return Retrieved(query, found.hits, found.timings_ms["total"])


def ranking(
    retrieved: Iterable[Retrieved], weights: Weights | None = None
) -> dict[str, float | None]:
    """Return the means over queries, in [0, 1]; None when there is no query."""
    rows = [(one.found(weights), frozenset(one.query.relevant)) for one in retrieved]
    return {
        "queries": len(rows),
        "recall_at_5": mean(len(right.intersection(ids[:5])) / len(right) for ids, right in rows),
        "recall_at_10": mean(len(right.intersection(ids[:10])) / len(right) for ids, right in rows),
        "ndcg_at_5": mean(ndcg_at(ids, right, 5) for ids, right in rows),
    }


def ndcg_at(found: Sequence[str], relevant: frozenset[str], depth: int) -> float:
    """Return the discounted gain of ``found``, divided by the best possible.

    >>> round(ndcg_at(["x", "a"], frozenset({"a"}), 5), 3)
    0.631
    """
    gains = [1.0 / math.log2(place + 2) for place in range(depth)]
    got = sum(gain for gain, one in zip(gains, found, strict=False) if one in relevant)
    return got / sum(gains[: len(relevant)])


def score_retrieval(retrieved: Sequence[Retrieved]) -> dict[str, object]:
    """Add up what `kds eval retrieval` reports; docs/evaluation.md explains the keys."""
    times = [one.ms for one in retrieved]
    names = sorted({one.query.category for one in retrieved if one.query.category is not None})
    by_category = {
        name: ranking(one for one in retrieved if one.query.category == name) for name in names
    }
    times_ms = {"ms_p50": percentile(times, 50), "ms_p95": percentile(times, 95)}
    return rounded({**ranking(retrieved), "by_category": by_category, **times_ms})


def tune(
    retrieved: Sequence[Retrieved], *, present: Weights, dense: bool
) -> tuple[Weights, dict[str, Any]]:
    """Search the weights that are best for NDCG@5; also the figures of both halves.

    ``dense`` False keeps the weight of meaning. Of weights that do as well, those in use stay.
    """
    first, second = halves(retrieved)

    def gain(weights: Weights) -> float:
        return ranking(first, weights)["ndcg_at_5"] or 0.0

    total = present.alpha + present.beta + present.gamma
    alphas = ALPHAS if dense else (present.alpha / total,)
    grid = [
        Weights(round(alpha, 4), round(beta, 4), gamma)
        for alpha in alphas
        for gamma in GAMMAS
        if (beta := 1.0 - alpha - gamma) > 0.0
    ]
    best_gain, best = max(((gain(one), one) for one in grid), key=lambda pair: pair[0])
    if best_gain <= gain(present) + NOTICEABLE:
        best = present
    return best, rounded({
        "weights": asdict(best),
        "searched_on": ranking(first, best),
        "other_half": ranking(second, best),
        "before": ranking(second, present),
    })  # fmt: skip


def halves(retrieved: Sequence[Retrieved]) -> tuple[list[Retrieved], list[Retrieved]]:
    """Divide the queries: every other conversation, or of one alone every other query.

    So no conversation is in both, and the halves are the same in every run.
    """
    names = list(dict.fromkeys(one.query.conversation for one in retrieved))
    if len(names) == 1:
        return list(retrieved[::2]), list(retrieved[1::2])
    first = set(names[::2])
    return [one for one in retrieved if one.query.conversation in first], [
        one for one in retrieved if one.query.conversation not in first
    ]
