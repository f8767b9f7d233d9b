"""`kds eval retrieval`: recall on conversations with known answers, and the weights of its ranking.

docs/evaluation.md has the form of the file. Every query is asked in its own conversation. recall@k
is the share of a query's relevant messages among the first k; NDCG@5 weighs them by their place
(1/log2(place + 1)) against the best order.
"""

import math
import tempfile
from collections.abc import Sequence
from dataclasses import asdict
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Annotated, Any, Final

from pydantic import BeforeValidator, Field, model_validator

from kds.api.embeddings import embed_waiting, load_embedder, model_name
from kds.api.measures import mean
from kds.api.settings_edit import write_values
from kds.brain.memory.memory_store import SqliteStore
from kds.brain.passages.recall import recall, weights_set
from kds.brain.passages.rerank import Weights, weigh
from kds.brain.passages.values import Role
from kds.brain.settings import load_settings
from kds.testing.examples import Bench, Example, Row, Text, Texts, times

EPOCH: Final = datetime(2020, 1, 1, tzinfo=UTC)
"""Start of conversations without times: their messages follow each other by a minute."""

LOCOMO_TIME: Final = "%I:%M %p on %d %B, %Y"
"""Accepted beside ISO 8601."""

POOL: Final = 60
"""Chunks kept of each query: more than ten messages need, so that other weights find others."""

BETWEEN: Final = "/"
"""Between the id of a conversation and that of a message: those are unique there only."""

ALPHAS: Final = tuple(step / 20 for step in range(15))
"""Weights of meaning to try: 0 to 0.7."""

GAMMAS: Final = (0.0, 0.05, 0.1, 0.15, 0.2, 0.3, 0.4)
"""Weights of identifiers to try. Words get the rest, up to 1."""

NOTICEABLE: Final = 0.0005
"""The least gain in NDCG@5 that changes the weights: half of a rounding."""


def _moment(value: Any) -> Any:
    try:
        return datetime.strptime(value, LOCOMO_TIME)
    except (TypeError, ValueError):
        return value


class _Message(Example, coerce_numbers_to_str=True):
    id: Text
    role: Role = "user"
    speaker: str | None = None
    at: Annotated[datetime | None, BeforeValidator(_moment)] = None
    content: str


class _Conversation(Example, coerce_numbers_to_str=True):
    id: Text
    messages: list[_Message] = Field(min_length=1)


class _Query(Example, coerce_numbers_to_str=True):
    conversation: Text
    query: Text
    relevant: Texts
    category: str | None = None


class Memories(Example):
    """Conversations, and questions about each with the ids of the messages that answer.

    Questions without an answer do not count: figures are shares of what there is to find.
    """

    conversations: list[_Conversation] = Field(min_length=1)
    queries: list[_Query] = Field(min_length=1)

    @model_validator(mode="after")
    def _known(self) -> "Memories":
        ids = {one.id: {said.id for said in one.messages} for one in self.conversations}
        for query in self.queries:
            if query.conversation not in ids:
                raise ValueError(f"has no conversation '{query.conversation}'")
            if unknown := {*query.relevant} - ids[query.conversation]:
                raise ValueError(f"has no message '{min(unknown)}' in '{query.conversation}'")
        if not any(query.relevant for query in self.queries):
            raise ValueError("has no query with an answer: name the messages in 'relevant'")
        return self


def run(
    files: Sequence[Memories], bench: Bench, *, tune: bool = False, write: bool = False
) -> list[Row]:
    """Store conversations in a temporary folder, and ask each query in its own.

    With ``tune`` the first row has the best weights; ``write`` puts them into the settings.
    """
    options = load_settings(bench.workspace).recall
    name = model_name(options.embeddings)
    embedder = load_embedder(name) if name else None
    rows: list[Row] = []
    with (
        tempfile.TemporaryDirectory(prefix="kds-retrieval-") as folder,
        SqliteStore(Path(folder) / SqliteStore.file_name) as store,
    ):
        for conversation in bench.each([c for one in files for c in one.conversations], "storing"):
            _keep(store, conversation)
        if embedder is not None:
            embed_waiting(store, embedder, tell=bench.tell)
        queries = [query for one in files for query in one.queries if query.relevant]
        for query in bench.each(queries, "asking"):
            found = recall(store, query.query, session=query.conversation,
                           limit=POOL, options=options, embedder=embedder)  # fmt: skip
            start = len(f"{query.conversation}{BETWEEN}")
            ids = [hit.passage.message_id[start:] for hit in found.hits]
            rows.append({
                **query.model_dump(),
                "found": ids,
                "parts": [hit.parts for hit in found.hits],
                "right": {*query.relevant} <= {*[*dict.fromkeys(ids)][:10]},
                "ms": found.timings_ms["total"],
            })  # fmt: skip
    if tune:
        rows[0]["tuning"] = tuned(rows, weights_set(options), dense=embedder is not None)
    if write:
        bench.workspace.ensure()
        values = {f"rerank_{key}": value for key, value in rows[0]["tuning"]["weights"].items()}
        write_values(bench.workspace.settings_path, "recall", values)
    return rows


def _keep(store: SqliteStore, conversation: _Conversation) -> None:
    store.create_session(session_id=conversation.id)
    for number, one in enumerate(conversation.messages):
        sent = one.at or EPOCH + timedelta(minutes=number)
        if one.content.strip():
            store.append(
                conversation.id, one.role, one.content, speaker=one.speaker,
                at=sent if sent.tzinfo else sent.replace(tzinfo=UTC),
                message_id=f"{conversation.id}{BETWEEN}{one.id}",
            )  # fmt: skip


def score(rows: Sequence[Row]) -> Row:
    """Add up what `kds eval retrieval` reports; docs/evaluation.md explains the keys."""
    names = sorted({row["category"] for row in rows} - {None})
    return {
        **ranking(rows),
        "by_category": {
            name: ranking([row for row in rows if row["category"] == name]) for name in names
        },
        **times(rows, 50, 95),
        **({"tuning": rows[0]["tuning"]} if "tuning" in rows[0] else {}),
    }


def ranking(rows: Sequence[Row], weights: Weights | None = None) -> Row:
    """Return the means over queries, in [0, 1], under other weights when given; None of none."""
    ranked = [(_found(row, weights), frozenset(row["relevant"])) for row in rows]
    return {
        "queries": len(ranked),
        "recall_at_5": mean(len(right & {*ids[:5]}) / len(right) for ids, right in ranked),
        "recall_at_10": mean(len(right & {*ids[:10]}) / len(right) for ids, right in ranked),
        "ndcg_at_5": mean(ndcg_at(ids, right, 5) for ids, right in ranked),
    }


def _found(row: Row, weights: Weights | None) -> list[str]:
    """The ids of the messages found, best first."""
    hits = list(zip(row["found"], row["parts"], strict=True))
    if weights is not None:
        named = any(parts.code for _, parts in hits)
        hits.sort(key=lambda hit: -weigh(hit[1], weights, named=named))
    return list(dict.fromkeys(name for name, _ in hits))


def ndcg_at(found: Sequence[str], relevant: frozenset[str], depth: int) -> float:
    """Return the discounted gain of ``found``, divided by the best possible.

    >>> round(ndcg_at(["x", "a"], frozenset({"a"}), 5), 3)
    0.631
    """
    gains = [1.0 / math.log2(place + 2) for place in range(depth)]
    got = sum(gain for gain, one in zip(gains, found, strict=False) if one in relevant)
    return got / sum(gains[: len(relevant)])


def tuned(rows: Sequence[Row], present: Weights, *, dense: bool) -> Row:
    """Search the weights that are best for NDCG@5 on half of the queries; report the other half.

    ``dense`` False keeps the weight of meaning. Of weights that do as well, those in use stay. The
    halves are every other conversation, or of one alone every other query.
    """
    order = {name: at for at, name in enumerate(dict.fromkeys(r["conversation"] for r in rows))}
    halves: tuple[list[Row], list[Row]] = ([], [])
    for number, row in enumerate(rows):
        at = order[row["conversation"]] if len(order) > 1 else number
        halves[at % 2].append(row)
    first, second = halves

    def gain(weights: Weights) -> float:
        return ranking(first, weights)["ndcg_at_5"] or 0.0

    alphas = ALPHAS if dense else (present.alpha / (present.alpha + present.beta + present.gamma),)
    grid = [
        Weights(round(alpha, 4), round(beta, 4), gamma)
        for alpha in alphas
        for gamma in GAMMAS
        if (beta := 1.0 - alpha - gamma) > 0.0
    ]
    best = max(grid, key=gain)
    if gain(best) <= gain(present) + NOTICEABLE:
        best = present
    return {
        "weights": asdict(best),
        "searched_on": ranking(first, best),
        "other_half": ranking(second, best),
        "before": ranking(second, present),
    }
