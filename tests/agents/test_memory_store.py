"""The memory as a LangGraph store: held against LangGraph's own in-memory one, and by itself."""

import asyncio
import string
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from langchain_core.embeddings import Embeddings
from langgraph.graph import START, StateGraph
from langgraph.runtime import Runtime
from langgraph.store.base import (
    BaseStore,
    GetOp,
    IndexConfig,
    InvalidNamespaceError,
    ListNamespacesOp,
    MatchCondition,
    PutOp,
    SearchOp,
)
from langgraph.store.memory import InMemoryStore

from kds.agents.item_search import matches
from kds.agents.memory_store import MemoryBaseStore
from kds.brain.errors import StoreError
from kds.brain.sessions.sqlite_store import SqliteStore

from ..brain.conformance import HandClock  # one clock to set by hand

FOOD = ("users", "ada", "food")
WORK = ("users", "ada", "work")


class Letters(Embeddings):
    """Counts letters; fails while it is down."""

    def __init__(self) -> None:
        self.down = False
        self.calls = 0

    def embed_query(self, text: str) -> list[float]:
        if self.down:
            raise ConnectionError("the model is down")
        self.calls += 1
        return [text.lower().count(letter) + 0.01 for letter in string.ascii_lowercase]

    def embed_documents(self, texts: list[str]) -> list[list[float]]:
        return [self.embed_query(text) for text in texts]


@pytest.fixture
def clock() -> HandClock:
    return HandClock()


@pytest.fixture
def memory(tmp_path: Path, clock: HandClock) -> Iterator[SqliteStore]:
    with SqliteStore(tmp_path / "memory.db", clock=clock) as store:
        yield store


@pytest.fixture
def store(memory: SqliteStore) -> MemoryBaseStore:
    return MemoryBaseStore(memory)


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SqliteStore]:
    with SqliteStore(tmp_path_factory.mktemp("items") / "memory.db") as store:
        yield store


@pytest.fixture
def letters() -> Letters:
    return Letters()


@pytest.fixture
def near(memory: SqliteStore, letters: Letters) -> MemoryBaseStore:
    """A store that searches by meaning, as far as letters have any."""
    return MemoryBaseStore(memory, index=IndexConfig(dims=26, embed=letters, fields=["text"]))


def keys(found: list[Any]) -> list[str]:
    return [item.key for item in found]


def test_what_was_put_comes_back_with_its_times(store: MemoryBaseStore, clock: HandClock) -> None:
    begun = clock.now
    value = {"text": "no nuts", "n": [1, 2.5, None, {"deep": True}], "é": "ü"}
    store.put(FOOD, "nuts", value)
    clock.now += timedelta(hours=1)
    store.put(FOOD, "nuts", value | {"n": 2})
    item = store.get(FOOD, "nuts")
    assert item is not None
    assert (item.value, item.namespace, item.key) == (value | {"n": 2}, FOOD, "nuts")
    assert (item.created_at, item.updated_at) == (begun, clock.now)
    assert store.get(WORK, "nuts") is None


def test_it_is_there_after_a_restart(memory: SqliteStore, store: MemoryBaseStore) -> None:
    store.put(FOOD, "nuts", {"text": "no nuts"})
    memory.close()
    with SqliteStore(memory.path) as again:
        assert keys(list(MemoryBaseStore(again).search(("users",)))) == ["nuts"]


def test_a_query_ranks_by_words_and_leaves_nothing_out(store: MemoryBaseStore) -> None:
    store.put(FOOD, "nuts", {"text": "Ada is allergic to peanuts"})
    store.put(FOOD, "tea", {"text": "likes green tea"})
    found = store.search(("users", "ada"), query="which tea does she like?")
    assert keys(found) == ["tea", "nuts"]
    assert (found[0].score, found[1].score) == (1.0, None)


def test_a_query_ranks_by_vectors_where_there_is_a_model(near: MemoryBaseStore) -> None:
    near.put(FOOD, "zz", {"text": "zzzz"})
    near.put(FOOD, "aa", {"text": "aaaa"})
    near.put(FOOD, "hidden", {"text": "zzzz"}, index=False)
    found = near.search(FOOD, query="zz")
    assert keys(found) == ["zz", "aa", "hidden"]
    assert found[0].score == pytest.approx(1.0, abs=0.01)
    assert found[2].score is None


def test_an_outage_of_the_model_loses_no_item_and_is_made_up_for(
    near: MemoryBaseStore, letters: Letters
) -> None:
    letters.down = True
    near.put(FOOD, "tea", {"text": "green tea"})
    assert keys(near.search(FOOD, query="tea")) == ["tea"]
    letters.down = False
    near.put(FOOD, "nuts", {"text": "peanuts"})
    scores = [item.score for item in near.search(FOOD, query="green tea")]
    assert scores[0] == pytest.approx(1.0, abs=0.01)
    assert None not in scores


def test_another_model_makes_its_own_vectors(memory: SqliteStore, near: MemoryBaseStore) -> None:
    near.put(FOOD, "tea", {"text": "green tea"})

    def lengths(texts: list[str]) -> list[list[float]]:
        return [[float(len(text)), 1.0] for text in texts]

    other = MemoryBaseStore(memory, index=IndexConfig(dims=2, embed=lengths, fields=["text"]))
    assert other.search(FOOD, query="green tea")[0].score is None
    assert other.search(FOOD, query="green tea")[0].score == pytest.approx(1.0, abs=0.01)


def test_vectors_are_made_once(near: MemoryBaseStore, letters: Letters) -> None:
    near.put(FOOD, "tea", {"text": "green tea"})
    made = letters.calls
    near.get(FOOD, "tea")
    near.search(FOOD)
    assert letters.calls == made


@pytest.mark.parametrize(
    ("wanted", "kept"),
    [
        ({"kind": "note"}, ["b", "a"]),
        ({"kind": "note", "n": {"$gt": 1}}, ["b"]),
        ({"n": {"$gte": 1, "$lt": 3}}, ["b", "a"]),
        ({"n": {"$ne": 1}}, ["c", "b"]),
        ({"kind": {"$eq": "file"}}, ["c"]),
        ({"lacking": None}, ["c", "b", "a"]),
        ({"n": {"$gt": "x"}}, []),
    ],
)
def test_filters_keep_what_meets_them(
    wanted: dict[str, Any], kept: list[str], store: MemoryBaseStore
) -> None:
    for number, (key, kind) in enumerate({"a": "note", "b": "note", "c": "file"}.items(), 1):
        store.put(WORK, key, {"kind": kind, "n": number})
    assert keys(store.search(WORK, filter=wanted)) == kept


def test_an_unknown_operator_is_refused(store: MemoryBaseStore) -> None:
    store.put(WORK, "a", {"n": 1})
    with pytest.raises(ValueError, match=r"\$near"):
        store.search(WORK, filter={"n": {"$near": 1}})


def test_items_expire_and_reading_puts_it_off(
    store: MemoryBaseStore, memory: SqliteStore, clock: HandClock
) -> None:
    store.put(FOOD, "soup", {"text": "soup today"}, ttl=60)
    store.put(FOOD, "tea", {"text": "tea"})
    clock.now += timedelta(minutes=45)
    assert store.get(FOOD, "soup") is not None
    clock.now += timedelta(minutes=45)
    assert keys(store.search(FOOD, refresh_ttl=False)) == ["tea", "soup"]
    clock.now += timedelta(minutes=45)
    assert store.get(FOOD, "soup") is None
    assert keys(store.search(FOOD, query="soup")) == ["tea"]
    assert store.sweep_ttl() == 1
    assert b"soup today" not in memory.path.read_bytes()


def test_the_configuration_sets_the_time_to_live(memory: SqliteStore, clock: HandClock) -> None:
    store = MemoryBaseStore(memory, ttl={"default_ttl": 10, "refresh_on_read": False})
    store.put(FOOD, "soup", {"text": "soup"})
    clock.now += timedelta(minutes=6)
    assert store.get(FOOD, "soup") is not None
    clock.now += timedelta(minutes=6)
    assert store.get(FOOD, "soup") is None
    assert store.list_namespaces() == []


def test_what_is_deleted_is_gone_from_the_disk(store: MemoryBaseStore, memory: SqliteStore) -> None:
    store.put(FOOD, "nuts", {"text": "aardvark pralines"})
    store.delete(FOOD, "nuts")
    store.delete(FOOD, "never")
    assert store.get(FOOD, "nuts") is None
    assert store.search(FOOD, query="pralines") == []
    for file in memory.path.parent.iterdir():
        content = file.read_bytes()
        assert b"aardvark" not in content
        assert b"pralin" not in content


def test_secrets_are_replaced_before_they_are_stored(
    store: MemoryBaseStore, memory: SqliteStore
) -> None:
    store.put(WORK, "login", {"password": "hunter2hunter2", "note": "password: hunter2hunter2"})
    item = store.get(WORK, "login")
    assert item is not None
    assert "hunter2" not in str(item.value)
    assert b"hunter2" not in memory.path.read_bytes()


def test_what_is_no_json_is_refused_and_nothing_stored(store: MemoryBaseStore) -> None:
    with pytest.raises(StoreError, match="cannot be written as JSON"):
        store.put(FOOD, "x", {"when": datetime.now(UTC)})
    assert store.search(()) == []


@pytest.mark.parametrize("minutes", [-1.0, float("nan")])
def test_a_time_to_live_that_is_none_is_refused(minutes: float, store: MemoryBaseStore) -> None:
    with pytest.raises(ValueError, match="time to live"):
        store.put(FOOD, "x", {}, ttl=minutes)


def test_a_time_to_live_beyond_all_dates_is_for_ever(store: MemoryBaseStore) -> None:
    store.put(FOOD, "x", {}, ttl=1e300)
    assert store.get(FOOD, "x") is not None


@pytest.mark.parametrize("namespace", [(), ("",), ("a.b",), ("langgraph",), ("a\x1fb",)])
def test_namespaces_that_cannot_be_are_refused(
    namespace: tuple[str, ...], store: MemoryBaseStore
) -> None:
    with pytest.raises((InvalidNamespaceError, StoreError)):
        store.put(namespace, "x", {"a": 1})


def test_a_batch_reads_before_it_writes_and_the_last_write_holds(store: MemoryBaseStore) -> None:
    results = store.batch([
        PutOp(FOOD, "x", {"n": 1}), GetOp(FOOD, "x"), PutOp(FOOD, "x", {"n": 2}),
    ])  # fmt: skip
    assert results == [None, None, None]
    item = store.get(FOOD, "x")
    assert item is not None
    assert item.value == {"n": 2}


def test_the_async_calls_do_the_same(near: MemoryBaseStore) -> None:
    async def talk() -> None:
        await near.aput(FOOD, "tea", {"text": "green tea"})
        item = await near.aget(FOOD, "tea")
        assert item is not None
        assert item.value == {"text": "green tea"}
        [found] = await near.asearch(("users",), query="green tea")
        assert found.score == pytest.approx(1.0, abs=0.01)
        assert await near.alist_namespaces(suffix=("food",)) == [FOOD]
        await near.adelete(FOOD, "tea")
        assert await near.aget(FOOD, "tea") is None
        await asyncio.gather(*(near.aput(FOOD, str(n), {"n": n}) for n in range(20)))
        assert len(await near.asearch(FOOD, limit=50)) == 20

    asyncio.run(talk())


def test_a_graph_remembers_from_one_thread_to_the_next(memory: SqliteStore) -> None:
    def node(state: dict[str, Any], runtime: Runtime[None]) -> dict[str, Any]:
        assert runtime.store is not None
        before = runtime.store.get(("users", "ada"), "seen")
        count = (before.value["count"] if before else 0) + 1
        runtime.store.put(("users", "ada"), "seen", {"count": count})
        return {"count": count}

    builder = StateGraph(dict)
    builder.add_node("node", node)  # type: ignore[arg-type]  # langgraph's overloads
    builder.add_edge(START, "node")
    graph = builder.compile(store=MemoryBaseStore(memory))
    assert [graph.invoke({})["count"] for _ in range(3)] == [1, 2, 3]


labels = st.sampled_from(["a", "b", "ab"])
namespaces = st.lists(labels, min_size=1, max_size=3).map(tuple)
item_keys = st.sampled_from(["x", "y", "z"])
values = st.dictionaries(
    st.sampled_from(["kind", "n"]), st.sampled_from(["note", "file", 1, 2, None]), max_size=2
)
paths = st.lists(st.sampled_from(["a", "b", "ab", "*"]), min_size=1, max_size=2).map(tuple)
conditions = st.builds(MatchCondition, st.sampled_from(["prefix", "suffix"]), paths)
puts = st.builds(PutOp, namespaces, item_keys, st.none() | values, st.none(), st.none())
reads = st.one_of(
    st.builds(GetOp, namespaces, item_keys, st.just(True)),
    st.builds(
        SearchOp,
        st.lists(labels, max_size=2).map(tuple),
        filter=st.none() | st.dictionaries(st.just("kind"), st.sampled_from(["note", "file"])),
        limit=st.just(100),
        offset=st.just(0),
        query=st.none(),
        refresh_ttl=st.just(True),
    ),
    st.builds(
        ListNamespacesOp,
        st.none() | st.lists(conditions, max_size=2).map(tuple),
        st.none() | st.integers(1, 3),
        limit=st.integers(0, 5),
        offset=st.integers(0, 2),
    ),
)


def plain(result: Any) -> Any:
    """A result without times and without an order, which LangGraph does not promise."""
    if isinstance(result, list):
        listed = [plain(one) for one in result]
        return listed if listed and isinstance(listed[0], tuple) else sorted(listed, key=str)
    if hasattr(result, "value"):
        return {"at": [*result.namespace, result.key], "value": result.value}
    return result


def without_empty(store: InMemoryStore) -> InMemoryStore:
    """LangGraph's store lists a namespace that was only looked at, or that lost its last item."""
    for namespace in [found for found, items in store._data.items() if not items]:
        del store._data[namespace]
    return store


@settings(max_examples=40)
@given(rounds=st.lists(st.tuples(st.lists(puts, max_size=4), st.lists(reads, max_size=4))))
def test_it_does_what_langgraphs_own_store_does(
    rounds: list[tuple[list[PutOp], list[Any]]], shared: SqliteStore
) -> None:
    ours: BaseStore = MemoryBaseStore(shared)
    ours.batch([PutOp(found.namespace, found.key, None) for found in ours.search((), limit=999)])
    theirs = InMemoryStore()
    for writes, looks in rounds:
        ours.batch(writes)
        theirs.batch(writes)
        for look in looks:
            assert plain(ours.batch([look])) == plain(without_empty(theirs).batch([look]))
    assert shared.check().sound


def test_values_inside_values_and_lists_are_compared_whole() -> None:
    value = {"tags": ["a", "b"], "by": {"name": "Ada", "age": 36}}
    assert matches(value, {"tags": ["a", "b"], "by": {"name": "Ada"}})
    assert not matches(value, {"tags": ["a"]})
    assert not matches(value, {"by": {"name": "Bob"}})
    assert not matches(value, {"tags": {"name": "a"}})
    assert matches(value, {"by": {"age": {"$gt": "35"}}})
