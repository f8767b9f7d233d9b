"""The measures of the intent classifier, on messages that are easily told apart."""

from collections.abc import Sequence

import pytest

from kds.brain.errors import ConfigError
from kds.brain.turn import UNKNOWN
from kds.router.intents.model import IntentModel
from kds.testing.intents import LabelledMessage, Split, draw, score_intents, score_splits

VERBS = {"PAINT": "paint", "LIFT": "lift", "SELL": "sell", "WASH": "wash", "BURN": "burn"}


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
TRAIN = messages(("door", "wall", "roof", "fence", "gate", "floor", "chair", "lamp"))
TEST = [*messages(("shelf", "bench", "stool")), *STRANGE]


def test_every_figure_of_a_set_that_is_told_apart_is_perfect() -> None:
    report = score_intents(TEST, train=TRAIN)
    names = ("accuracy", "top2", "oos_auroc", "oos_recall_at_95")
    assert [report.figures[name] for name in names] == [1.0] * 4
    assert report.figures["macro_f1"] == pytest.approx(1.0, abs=0.15)
    assert len(report.pairs) == len(TEST)


def test_shots_give_the_mean_over_seeds_and_their_deviation_the_same_in_each_run() -> None:
    told: list[str] = []
    report = score_intents(
        TEST, train=TRAIN, shots=2, seeds=2, progress=lambda what, *_: told.append(what)
    )
    assert told == ["fitting", "scoring"] * 2
    assert set(report.std) == set(report.figures)
    again = score_intents(TEST, train=TRAIN, shots=2, seeds=2)
    assert again.figures["accuracy"] == report.figures["accuracy"]


def test_a_draw_takes_so_many_of_each_label_and_is_the_same_for_a_seed() -> None:
    drawn = draw([*TRAIN, *STRANGE], 3, seed=4)
    assert len(drawn) == 3 * (len(VERBS) + 1)
    assert drawn == draw([*TRAIN, *STRANGE], 3, seed=4)
    assert drawn != draw([*TRAIN, *STRANGE], 3, seed=5)


def test_a_fitted_model_is_scored_as_it_is_and_any_of_several_intents_is_right() -> None:
    model = IntentModel.fit_examples([(one.text, one.intents[0]) for one in TRAIN])
    either = [LabelledMessage("please paint the shelf", ("LIFT", "PAINT"))]
    figures = score_intents(either, model=model).figures
    assert (figures["accuracy"], figures["oos_auroc"], figures["oos_acted"]) == (1.0, None, None)


def test_intents_that_the_model_does_not_know_are_all_named() -> None:
    unknown = [LabelledMessage("fly", ("FLY",), f"t.jsonl:{line}") for line in (1, 2)]
    with pytest.raises(ConfigError) as raised:
        score_intents(unknown, train=TRAIN)
    assert [problem.where for problem in raised.value.problems] == ["t.jsonl:1", "t.jsonl:2"]


@pytest.mark.parametrize(
    ("expected", "actual", "exact", "recall", "false_splits"),
    [
        ("PLAN TEST", "TEST PLAN", 0.0, 1.0, None),  # order counts for exact alone
        ("ASK", "ASK TEST", 0.0, 1.0, 1.0),
        ("TEST", "TEST", 1.0, 1.0, 0.0),
    ],
)
def test_messages_with_several_intents(
    expected: str, actual: str, exact: float, recall: float, false_splits: float | None
) -> None:
    one = Split(LabelledMessage("text", tuple(expected.split())), tuple(actual.split()))
    assert score_splits([one]) == {
        "exact": exact, "recall": recall, "false_splits": false_splits,
    }  # fmt: skip
