"""The memory as a LangGraph ``BaseStore``: what a graph keeps from one thread to the next.

    graph = builder.compile(store=MemoryBaseStore(memory))

Namespaces, filters, expiry and search work as the interface says. Without an ``index`` a query
ranks by words. With one it ranks by vectors; an item whose vector could not be made is kept,
found by its words behind the others, and embedded with a later call.

Needs the extra ``langgraph`` of KDS.
"""

import asyncio
from collections.abc import Iterable, Mapping, Sequence
from datetime import timedelta
from typing import Any, Final

from kds.agents.item_search import BATCH, ItemVectors, matches
from kds.brain.errors import KdsError
from kds.brain.installation import install_line
from kds.brain.sessions.memory_store import MemoryStore
from kds.brain.sessions.session_values import Item as StoredItem
from kds.brain.sessions.session_values import ItemText, Namespace

try:
    from langgraph.store.base import (
        BaseStore,
        GetOp,
        IndexConfig,
        Item,
        ListNamespacesOp,
        MatchCondition,
        Op,
        PutOp,
        Result,
        SearchItem,
        SearchOp,
        TTLConfig,
        ensure_embeddings,
        get_text_at_path,
        validate_op_namespace,
    )
except ModuleNotFoundError as error:
    raise KdsError(
        f"'{error.name}' is needed for a LangGraph store, and not installed",
        hint=f"{install_line('langgraph')} (the extra 'langgraph' of KDS)",
    ) from error

WHOLE: Final = "$"
"""The path of the whole value, as LangGraph writes it."""

LONGEST_MINUTES: Final = 60 * 24 * 36_525
"""A time to live of a century is one for ever."""

_ANY: Final = "*"

_BELOW: Final = 3.0
"""Puts what only words find below every cosine. Such a score is none to be shown."""

_Place = tuple[Namespace, str]
_Vectors = Mapping[str, Sequence[float]]


class MemoryBaseStore(BaseStore):
    """Keeps items in a conversation memory. Secrets in them are replaced by marks."""

    supports_ttl = True
    __slots__ = ("_fields", "_items", "_vectors", "ttl_config")

    def __init__(
        self,
        memory: MemoryStore,
        *,
        index: IndexConfig | None = None,
        ttl: TTLConfig | None = None,
    ) -> None:
        """Keep items in ``memory``; ``index`` and ``ttl`` as for LangGraph's own stores.

        Whoever opened the memory closes it. Expired items are never returned; `sweep_ttl`
        removes them.
        """
        self._items = memory.items
        self._fields: Sequence[str] = (index.get("fields") if index else None) or (WHOLE,)
        self._vectors = _vectors(index) if index else None
        self.ttl_config = ttl

    def batch(self, ops: Iterable[Op]) -> list[Result]:
        """Do all of ``ops``: what reads first, then what writes; of a key the last write holds.

        Raises StoreError when the memory cannot be used, and LangGraph's InvalidNamespaceError
        and ValueError for what cannot be asked.
        """
        wanted = _checked(ops)
        asked = self._vectors.of_queries(_queries(wanted)) if self._vectors else {}
        results = self._done(wanted, asked)
        if self._vectors and (due := self._due()):
            self._embedded(due, self._vectors.of_texts([one.text for one in due]))
        return results

    async def abatch(self, ops: Iterable[Op]) -> list[Result]:
        """As `batch`, off the event loop."""
        wanted = _checked(ops)
        asked = await self._vectors.aof_queries(_queries(wanted)) if self._vectors else {}
        results = await asyncio.to_thread(self._done, wanted, asked)
        if self._vectors and (due := await asyncio.to_thread(self._due)):
            vectors = await self._vectors.aof_texts([one.text for one in due])
            await asyncio.to_thread(self._embedded, due, vectors)
        return results

    def sweep_ttl(self) -> int:
        """Remove what has expired, down to its bytes; returns how many items."""
        return self._items.expire()

    def _done(self, ops: Sequence[Op], asked: _Vectors) -> list[Result]:
        results = [self._read(op, asked) for op in ops]
        puts = {(op.namespace, op.key): op for op in ops if isinstance(op, PutOp)}
        if gone := [place for place, op in puts.items() if op.value is None]:
            self._items.delete(gone)
        for op in puts.values():
            self._put(op)
        return results

    def _read(self, op: Op, asked: _Vectors) -> Result:
        if isinstance(op, GetOp):
            found = self._items.get(op.namespace, op.key, refresh=op.refresh_ttl)
            return _item(found) if found else None
        if isinstance(op, SearchOp):
            return self._search(op, asked)
        if isinstance(op, ListNamespacesOp):
            return self._namespaces(op)
        return None

    def _put(self, op: PutOp) -> None:
        if op.value is None:
            return
        lifetime = None if op.ttl is None else _lifetime(op.ttl)
        try:
            texts = _texts(op.value, op.index, self._fields)
        except TypeError:  # no JSON: `put` refuses it, and says why
            texts = ()
        self._items.put(op.namespace, op.key, op.value, texts=texts, lifetime=lifetime)

    def _search(self, op: SearchOp, asked: _Vectors) -> list[SearchItem]:
        found = self._items.under(op.namespace_prefix)
        if op.filter:
            found = tuple(item for item in found if matches(item.value, op.filter))
        scores = self._scores(op, asked) if op.query else {}
        ranked = sorted(found, key=lambda item: -scores.get(_place(item), float("-inf")))
        page = ranked[max(op.offset, 0) :][: max(op.limit, 0)]
        if op.refresh_ttl:
            self._items.refresh(page)
        return [_search_item(item, scores.get(_place(item))) for item in page]

    def _scores(self, op: SearchOp, asked: _Vectors) -> dict[_Place, float]:
        """By vectors, else by words; what only words find comes behind, below every cosine."""
        query, prefix = op.query or "", op.namespace_prefix
        words = self._items.search_words(query, prefix)
        best = max(words.values(), default=1.0)
        scores = {place: score / best for place, score in words.items()}
        if self._vectors is None or query not in asked:
            return scores
        near = self._items.search_vectors(asked[query], model=self._vectors.name, prefix=prefix)
        return {place: score - _BELOW for place, score in scores.items()} | near

    def _namespaces(self, op: ListNamespacesOp) -> list[tuple[str, ...]]:
        conditions = op.match_conditions or ()
        found = {
            namespace[: op.max_depth] if op.max_depth is not None else namespace
            for namespace in self._items.namespaces()
            if all(_fits(namespace, condition) for condition in conditions)
        }
        return sorted(found)[max(op.offset, 0) :][: max(op.limit, 0)]

    def _due(self) -> tuple[ItemText, ...]:
        return self._items.due(self._vectors.name, BATCH) if self._vectors else ()

    def _embedded(self, due: Sequence[ItemText], vectors: Sequence[Sequence[float]]) -> None:
        if self._vectors and vectors:
            found = {one.id: vector for one, vector in zip(due, vectors, strict=True)}
            self._items.store_vectors(self._vectors.name, found)


def _vectors(index: IndexConfig) -> ItemVectors:
    embed = index["embed"]
    return ItemVectors(ensure_embeddings(embed), made_of=embed, dims=index["dims"])


def _checked(ops: Iterable[Op]) -> list[Op]:
    wanted = list(ops)
    for op in wanted:
        if not isinstance(op, GetOp | SearchOp | ListNamespacesOp | PutOp):
            raise ValueError(f"unknown operation: {type(op).__name__}")
        validate_op_namespace(op)
    return wanted


def _queries(ops: Iterable[Op]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(op.query for op in ops if isinstance(op, SearchOp) and op.query))


def _texts(
    value: Mapping[str, Any], index: Sequence[str] | bool | None, fields: Sequence[str]
) -> tuple[str, ...]:
    if index is False:
        return ()
    paths = fields if index is None or index is True else index
    return tuple(text for path in paths for text in get_text_at_path(value, path))


def _lifetime(minutes: float) -> timedelta:
    if not minutes >= 0:
        raise ValueError(f"{minutes} minutes are no time to live")
    return timedelta(minutes=min(minutes, LONGEST_MINUTES))


def _place(item: StoredItem) -> _Place:
    return item.namespace, item.key


def _item(item: StoredItem) -> Item:
    return Item(
        value=dict(item.value), key=item.key, namespace=item.namespace,
        created_at=item.created_at, updated_at=item.updated_at,
    )  # fmt: skip


def _search_item(item: StoredItem, score: float | None) -> SearchItem:
    shown = None if score is None or score < -1.0 else score
    return SearchItem(
        item.namespace, item.key, dict(item.value), item.created_at, item.updated_at, shown
    )


def _fits(namespace: Namespace, condition: MatchCondition) -> bool:
    """Tell whether a namespace begins, or ends, with a path; `*` stands for any label."""
    path = condition.path
    if len(namespace) < len(path):
        return False
    if condition.match_type == "prefix":
        part = namespace[: len(path)]
    elif condition.match_type == "suffix":
        part = namespace[len(namespace) - len(path) :]
    else:
        raise ValueError(f"unknown kind of match: {condition.match_type}")
    return all(wanted in (_ANY, label) for label, wanted in zip(part, path, strict=True))
