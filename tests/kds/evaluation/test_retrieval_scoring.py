"""The measures of recall, on rankings whose figures are known, and tuning on halves."""

from datetime import UTC, datetime

import pytest

from kds.brain.passages.fusion import DEFAULT, Fused, Weights
from kds.brain.passages.recalled import Hit
from kds.brain.passages.values import Passage
from kds.evaluation.retrieval_data import RetrievalQuery
from kds.evaluation.retrieval_scoring import Retrieved, ndcg_at, recall_at, score_retrieval
from kds.evaluation.retrieval_tuning import halves, tune

AT = datetime(2024, 5, 1, tzinfo=UTC)
KEYS = "queries recall_at_5 recall_at_10 ndcg_at_5 by_category ms_p50 ms_p95".split()


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


def test_recall_counts_what_is_among_the_first() -> None:
    assert recall_at(list("abcdef"), frozenset("af"), 5) == 0.5
    assert recall_at(list("abcdef"), frozenset("af"), 10) == 1.0


def test_ndcg_is_one_for_the_best_order_there_is() -> None:
    assert ndcg_at(list("abxyz"), frozenset("ab"), 5) == pytest.approx(1.0)
    assert ndcg_at(list("xyzab"), frozenset("ab"), 5) < 0.6
    assert ndcg_at(list("abcde"), frozenset("abcdefgh"), 5) == pytest.approx(1.0)
    assert ndcg_at([], frozenset("a"), 5) == 0.0


def test_a_message_found_in_two_chunks_counts_once() -> None:
    one = _retrieved("b", _hit("a", None, 1.0), _hit("a", None, 0.9), _hit("b", None, 0.8))
    assert one.found() == ("a", "b")


def test_the_report_has_the_keys_that_others_build_on() -> None:
    report = score_retrieval(
        [
            _retrieved("a", _hit("a", None, 1.0), category="1"),
            _retrieved("b", _hit("a", None, 1.0), category="2", ms=9.0),
            _retrieved("b"),
        ]
    ).as_dict()
    assert sorted(report) == sorted(KEYS)
    assert report["recall_at_5"] == 0.3333
    assert (report["ms_p50"], report["ms_p95"]) == (1.0, 9.0)
    assert report["by_category"] == {
        "1": {"queries": 1, "recall_at_5": 1.0, "recall_at_10": 1.0, "ndcg_at_5": 1.0},
        "2": {"queries": 1, "recall_at_5": 0.0, "recall_at_10": 0.0, "ndcg_at_5": 0.0},
    }


def test_other_weights_give_another_order() -> None:
    one = _retrieved("b", _hit("a", 0.1, 1.0), _hit("b", 1.0, 0.1))
    assert one.found(Weights(0.1, 0.9, 0.0)) == ("a", "b")
    assert one.found(Weights(0.9, 0.1, 0.0)) == ("b", "a")


def test_conversations_are_not_divided_between_the_halves() -> None:
    queries = [_retrieved("a", conversation=name) for name in "vwxyz" for _ in range(3)]
    first, second = halves(queries)
    assert {one.query.conversation for one in first} == set("vxz")
    assert {one.query.conversation for one in second} == set("wy")


def test_one_conversation_is_divided_by_its_questions() -> None:
    queries = [_retrieved(chr(97 + n)) for n in range(20)]
    first, second = halves(queries)
    assert len(first) + len(second) == 20
    assert first
    assert second
    assert halves(queries) == (first, second)


def test_weights_are_found_that_do_better_on_the_other_half_too() -> None:
    hits = (_hit("a", 0.1, 1.0), _hit("b", 1.0, 0.9))
    queries = [_retrieved("b", *hits, conversation=name) for name in "vwxyz"]
    tuned = tune(queries, present=Weights(0.0, 1.0, 0.0), dense=True)
    assert tuned.other_half.ndcg_at_5 == 1.0
    assert tuned.before.ndcg_at_5 == pytest.approx(0.631, abs=1e-3)
    assert set(tuned.as_dict()) == {"weights", "searched_on", "other_half", "before"}


def test_weights_that_cannot_be_bettered_stay() -> None:
    queries = [_retrieved("a", _hit("a", None, 1.0), conversation=name) for name in "vw"]
    assert tune(queries, present=DEFAULT, dense=False).weights == DEFAULT
