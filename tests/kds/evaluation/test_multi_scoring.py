"""How messages with several requests are scored."""

from datetime import UTC, datetime

from kds.brain.turn import Turn
from kds.evaluation.examples import MultiExample
from kds.evaluation.multi_scoring import Split, score_splits, split


def _split(expected: str, actual: str) -> Split:
    return Split(MultiExample("text", tuple(expected.split()), "a.jsonl:1"), tuple(actual.split()))


def test_order_counts_for_exact_and_not_for_recall() -> None:
    score = score_splits([_split("PLAN TEST", "TEST PLAN"), _split("TEST", "TEST")])
    assert (score.exact, score.recall, score.false_splits) == (0.5, 1.0, 0.0)


def test_a_single_intent_that_comes_out_as_several_is_a_false_split() -> None:
    score = score_splits([_split("ASK", "ASK TEST"), _split("ASK", "PLAN")])
    assert (score.exact, score.recall, score.false_splits) == (0.0, 0.5, 0.5)


def test_without_single_ones_there_is_no_share_of_false_splits() -> None:
    assert score_splits([_split("PLAN TEST", "PLAN")]).as_dict() == {
        "exact": 0.0, "recall": 0.5, "false_splits": None,
    }  # fmt: skip


def test_the_intent_comes_first_and_the_secondary_ones_after_it() -> None:
    def route(text: str) -> Turn:
        at = datetime(2025, 11, 3, tzinfo=UTC)
        return Turn(text, at, intent="EXECUTE", secondary_intents=("TEST", "COMMIT"))

    example = MultiExample("Fix, test, commit", ("EXECUTE", "TEST", "COMMIT"), "x")
    assert split(example, route).exact
