from collections.abc import Sequence

import pytest

from kds.brain.errors import ConfigError
from kds.brain.turn import UNKNOWN
from kds.evaluation.intents.data import LabelledMessage
from kds.evaluation.intents.intent_scores import IntentReport, draw, score_intents
from kds.router.intents.model import IntentModel

KEYS = {
    *("accuracy", "macro_f1", "top2", "oos_recall_at_95", "oos_auroc", "ece", "acted_precision"),
    *("coverage", "oos_acted", "train_s", "ms_p50", "ms_p99", "peak_mb"),
}
"""The JSON keys that issue 3 promises."""

VERBS = {"PAINT": "paint", "LIFT": "lift", "SELL": "sell", "WASH": "wash", "BURN": "burn"}
TRAIN_THINGS = ("door", "wall", "roof", "fence", "gate", "floor", "chair", "lamp")
TEST_THINGS = ("shelf", "bench", "stool")


def messages(things: Sequence[str]) -> list[LabelledMessage]:
    return [
        LabelledMessage(f"please {verb} the {thing}", (intent,))
        for intent, verb in VERBS.items()
        for thing in things
    ]


STRANGE = [
    LabelledMessage(text, (UNKNOWN,))
    for text in ("who won yesterday", "is it raining", "sing me something", "tell a joke")
]
TRAIN = messages(TRAIN_THINGS)
TEST = [*messages(TEST_THINGS), *STRANGE]


@pytest.fixture(scope="module")
def report() -> IntentReport:
    return score_intents(TEST, train=TRAIN)


def test_the_figures_have_the_promised_names(report: IntentReport) -> None:
    assert set(report.figures) == KEYS


def test_what_is_easily_told_apart_is_told_apart(report: IntentReport) -> None:
    assert report.accuracy == 1.0
    assert report.figures["macro_f1"] == pytest.approx(1.0, abs=0.15)
    assert report.figures["top2"] == 1.0
    assert report.figures["oos_auroc"] == 1.0
    assert report.figures["oos_recall_at_95"] == 1.0
    assert (report.messages, report.out_of_scope) == (len(TEST), len(STRANGE))


def test_every_message_stands_once_in_the_confusion_matrix(report: IntentReport) -> None:
    assert sum(map(sum, report.confusion.matrix)) == len(TEST)
    assert len(report.confusion.matrix) == len(report.confusion.labels)
    assert {*VERBS, UNKNOWN} <= {*report.confusion.labels}


def test_the_bins_hold_every_message_in_scope(report: IntentReport) -> None:
    assert sum(one.count for one in report.bins) == len(TEST) - len(STRANGE)
    confidences = [one.confidence for one in report.bins]
    assert confidences == sorted(confidences)


def test_shots_give_the_mean_over_seeds_and_their_deviation() -> None:
    report = score_intents(TEST, train=TRAIN, shots=2, seeds=2)
    assert set(report.std) == KEYS
    assert sum(map(sum, report.confusion.matrix)) == 2 * len(TEST)
    again = score_intents(TEST, train=TRAIN, shots=2, seeds=2)
    assert again.accuracy == report.accuracy


def test_a_draw_takes_so_many_of_each_label_and_is_the_same_for_a_seed() -> None:
    drawn = draw([*TRAIN, *STRANGE], 3, seed=4)
    assert len(drawn) == 3 * (len(VERBS) + 1)
    assert drawn == draw([*TRAIN, *STRANGE], 3, seed=4)
    assert drawn != draw([*TRAIN, *STRANGE], 3, seed=5)
    assert len(draw(TRAIN, 1000, seed=0)) == len(TRAIN)


def test_a_fitted_model_is_scored_as_it_is() -> None:
    model = IntentModel.fit_examples([(one.text, one.intents[0]) for one in TRAIN])
    report = score_intents(messages(TEST_THINGS), model=model)
    assert report.accuracy == 1.0
    assert report.figures["oos_auroc"] is None
    assert report.figures["oos_acted"] is None


def test_any_of_several_intents_is_right() -> None:
    either = [LabelledMessage("please paint the shelf", ("LIFT", "PAINT"))]
    assert score_intents(either, train=TRAIN).accuracy == 1.0


def test_intents_that_the_model_does_not_know_are_all_named() -> None:
    unknown = [
        LabelledMessage("fly", ("FLY",), "t.jsonl:1"),
        LabelledMessage("swim", ("SWIM",), "t.jsonl:2"),
    ]
    with pytest.raises(ConfigError) as raised:
        score_intents(unknown, train=TRAIN)
    assert [problem.where for problem in raised.value.problems] == ["t.jsonl:1", "t.jsonl:2"]


def test_progress_is_told() -> None:
    told: list[str] = []
    score_intents(TEST, train=TRAIN, shots=1, seeds=2, progress=lambda what, *_: told.append(what))
    assert told == ["fitting", "scoring"] * 2


def test_misuse_is_refused() -> None:
    with pytest.raises(ValueError, match="a model, or a training set"):
        score_intents(TEST)
    with pytest.raises(ValueError, match="at least one shot"):
        score_intents(TEST, train=TRAIN, shots=0)
