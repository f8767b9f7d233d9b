"""Conversations with known answers: reading, the measures of recall, tuning on halves."""

import json
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from kds.brain.errors import ExampleFileError
from kds.brain.passages.recall import Hit
from kds.brain.passages.rerank import DEFAULT, Fused, Weights
from kds.brain.passages.values import Passage
from kds.testing.retrieval import (
    EPOCH,
    RETRIEVAL_FORM,
    RetrievalQuery,
    Retrieved,
    halves,
    ndcg_at,
    read_retrieval,
    recall_at,
    tune,
)

AT = datetime(2024, 5, 1, tzinfo=UTC)
MESSAGES: list[dict[str, Any]] = [
    {"id": "m1", "role": "user", "speaker": "Ann", "at": "1:56 pm on 8 May, 2023", "content": "Hi"},
    {"id": 2, "role": "assistant", "content": "Hello", "more": 1},
]
QUERY: dict[str, Any] = {"conversation": "c", "query": "Who?", "relevant": "m1", "category": 3}
IN_MESSAGES = "(in conversations, item 1, messages, item 1)"


def _written(path: Path, messages: Any = MESSAGES, queries: Any = (QUERY,)) -> Path:
    data = {"conversations": [{"id": "c", "messages": messages}], "queries": list(queries)}
    path.write_text(json.dumps(data))
    return path


def test_a_file_is_read_with_times_where_it_has_none(tmp_path: Path) -> None:
    data = read_retrieval(_written(tmp_path / "r.json"))
    first, second = data.conversations[0].messages
    assert (first.at, first.speaker) == (datetime(2023, 5, 8, 13, 56, tzinfo=UTC), "Ann")
    assert (second.id, second.at) == ("2", EPOCH.replace(minute=1))
    assert (data.queries[0].relevant, data.queries[0].category) == (["m1"], "3")
    (tmp_path / "r.json").write_text(RETRIEVAL_FORM)
    assert len(read_retrieval(tmp_path / "r.json").queries) == 1


def test_a_query_without_an_answer_is_left_out_of_the_figures(tmp_path: Path) -> None:
    queries = (QUERY, QUERY | {"query": "What never came up?", "relevant": []})
    data = read_retrieval(_written(tmp_path / "r.json", MESSAGES, queries))
    assert [query.query for query in data.queries] == ["Who?"]


@pytest.mark.parametrize(
    ("messages", "queries", "problem"),
    [
        (MESSAGES, (QUERY | {"relevant": []},), "no query has an answer"),
        ([{"id": "m1", "content": 3}], (QUERY,), f"'content' {IN_MESSAGES}"),
        ([{"content": "x"}], (QUERY,), f"key 'id' {IN_MESSAGES}"),
        ([], (QUERY,), "'messages' (in conversations, item 1) must have at least 1"),
        (MESSAGES, (), "'queries' must have at least 1"),
        ([MESSAGES[0], MESSAGES[0]], (QUERY,), "conversation 'c' has several messages 'm1'"),
        (MESSAGES, (QUERY | {"relevant": ["x"]},), "item 1): there is no message 'x'"),
        (MESSAGES, (QUERY | {"conversation": "d"},), "there is no conversation 'd'"),
        ([MESSAGES[0] | {"at": "soon"}], (QUERY,), "messages, item 1) must be a time"),
        ([MESSAGES[0] | {"role": "robot"}], (QUERY,), "messages, item 1) must be 'user'"),
    ],
)
def test_a_problem_is_told_with_its_place(
    tmp_path: Path, messages: Any, queries: Any, problem: str
) -> None:
    path = _written(tmp_path / "r.json", messages, queries)
    with pytest.raises(ExampleFileError) as caught:
        read_retrieval(path)
    assert str(caught.value).startswith(str(path))
    assert problem in str(caught.value)


def _hit(message: str, dense: float | None, lexical: float) -> Hit:
    passage = Passage(1, f"c/{message}", "c", None, "user", None, AT, "prose", "", "x", "", 1)
    return Hit(passage, lexical, Fused(lexical, dense, lexical, 0.0), False, ())


def _retrieved(
    relevant: str, *hits: Hit, conversation: str = "c", category: str | None = None, ms: float = 1.0
) -> Retrieved:
    query = RetrievalQuery(
        conversation=conversation, query=f"q {relevant}", relevant=list(relevant), category=category
    )
    return Retrieved(query, hits, ms)


def test_recall_counts_the_first_and_ndcg_their_order() -> None:
    assert recall_at(list("abcdef"), frozenset("af"), 5) == 0.5
    assert recall_at(list("abcdef"), frozenset("af"), 10) == 1.0
    assert ndcg_at(list("abxyz"), frozenset("ab"), 5) == pytest.approx(1.0)
    assert ndcg_at(list("xyzab"), frozenset("ab"), 5) < 0.6
    assert ndcg_at(list("abcde"), frozenset("abcdefgh"), 5) == pytest.approx(1.0)
    assert ndcg_at([], frozenset("a"), 5) == 0.0


def test_conversations_are_not_divided_between_the_halves_and_one_alone_by_its_questions() -> None:
    first, second = halves([_retrieved("a", conversation=name) for name in "vwxyzvwxyz"])
    assert {one.query.conversation for one in first} == set("vxz")
    assert {one.query.conversation for one in second} == set("wy")
    queries = [_retrieved(chr(97 + n)) for n in range(20)]
    assert sorted(map(len, halves(queries))) != [0, 20]
    assert halves(queries) == halves(queries)


def test_weights_are_tuned_where_others_do_better_on_the_other_half_too() -> None:
    hits = (_hit("a", 0.1, 1.0), _hit("b", 1.0, 0.9))
    queries = [_retrieved("b", *hits, conversation=name) for name in "vwxyz"]
    tuned = tune(queries, present=Weights(0.0, 1.0, 0.0), dense=True)
    assert tuned.other_half.ndcg_at_5 == 1.0
    assert tuned.before.ndcg_at_5 == pytest.approx(0.631, abs=1e-3)
    best = [_retrieved("a", _hit("a", None, 1.0), conversation=name) for name in "vw"]
    assert tune(best, present=DEFAULT, dense=False).weights == DEFAULT
