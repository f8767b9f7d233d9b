"""`kds eval intents`, as a user runs it."""

import json
from pathlib import Path

import pytest

from ..conftest import Run, jsonl, refused

KEYS = (
    "accuracy macro_f1 top2 oos_recall_at_95 oos_auroc ece acted_precision coverage oos_acted "
    "train_s ms_p50 ms_p99 peak_mb"
).split()
THINGS = ("lamp", "heater", "radio", "kitchen light", "fan", "oven", "coffee machine", "tv")
TRAIN = tuple(
    {"text": text.format(thing), "intent": intent}
    for thing in THINGS
    for text, intent in (
        ("switch the {} on", "on"),
        ("turn the {} off please", "off"),
        ("how much power does the {} need", "power"),
        ("tell me a story about a {}", "oos"),
    )
)
TEST = (
    {"text": "switch the heater on now", "intent": "on"},
    {"text": "turn my lamp off", "intent": ["off", "power"]},
    {"text": "how much power does it need", "intent": "off"},
    {"text": "tell me a story about dragons", "intent": "oos"},
)


@pytest.fixture
def files(workspace: Path) -> tuple[str, str, str]:
    """The arguments for a small test set and its training set."""
    return (jsonl("test.jsonl", TEST), "--train", jsonl("train.jsonl", TRAIN))


def test_a_training_set_of_ones_own_is_fitted_and_scored(
    files: tuple[str, str, str], kds_call: Run
) -> None:
    result = kds_call("eval", "intents", *files, "--json")
    report = json.loads(result.out)
    assert (result.code, result.err, list(report)) == (0, "", KEYS)
    assert report["accuracy"] == pytest.approx(2 / 3, abs=1e-4)
    assert report["train_s"] > 0
    assert report["peak_mb"] > 10


def test_draws_report_how_far_they_differ(files: tuple[str, str, str], kds_call: Run) -> None:
    result = kds_call("eval", "intents", *files, "--shots", "3", "--seeds", "2", "--json")
    report = json.loads(result.out)
    assert list(report) == [*KEYS, "std"]
    assert set(report["std"]) == set(KEYS)


def test_the_table_names_the_worst_confusions(files: tuple[str, str, str], kds_call: Run) -> None:
    out = kds_call("eval", "intents", *files).out
    assert "66.7%" in out
    assert "4 messages, 1 of them out of scope" in out
    assert "off       power   1" in out


def test_the_prompts_of_the_workspace_are_scored(kds_call: Run, fitted_workspace: Path) -> None:
    rows = (
        {"text": "commit my changes", "intent": "COMMIT"},
        {"text": "what a lovely day", "intent": "UNKNOWN"},
    )
    before = sorted(fitted_workspace.rglob("*"))
    result = kds_call("eval", "intents", jsonl("mine.jsonl", rows), "--json")
    assert json.loads(result.out)["accuracy"] == 1.0
    assert sorted(fitted_workspace.rglob("*")) == sorted([*before, fitted_workspace / "mine.jsonl"])


def test_a_plot_is_drawn(files: tuple[str, str, str], kds_call: Run) -> None:
    pytest.importorskip("matplotlib", reason="needs the extra `eval`")
    assert kds_call("eval", "intents", *files, "--plot", "out.svg").code == 0
    assert "Reliability" in Path("out.svg").read_text() or Path("out.svg").stat().st_size > 5000


@pytest.mark.parametrize(
    ("arguments", "problem", "fix"),
    [
        (("test.jsonl", "--shots", "3"), "--shots draws", "add --train"),
        (("test.jsonl", "--train", "train.jsonl", "--seeds", "3"), "--seeds says", "add --shots"),
        (("test.jsonl", "--plot", "x.gif"), "cannot draw 'x.gif'", ".png or .svg"),
        (("test.jsonl", "--plot", "no/x.png"), "no such folder 'no'", "make it"),
        (("test.jsonl", "--train", "one.jsonl"), "one intent only", "needs two"),
        (("test.jsonl", "--train", "nowhere.jsonl"), "cannot be read", "check the path"),
        (("test.jsonl", "--train", "train.jsonl", "--shots", "0"), "x>=1", "--help"),
    ],
)
def test_bad_arguments_are_refused_before_the_work(
    arguments: tuple[str, ...],
    problem: str,
    fix: str,
    files: tuple[str, str, str],
    kds_call: Run,
) -> None:
    jsonl("one.jsonl", TRAIN[:1])
    refused(kds_call("eval", "intents", *arguments), problem, fix)


def test_an_intent_that_the_model_does_not_know_is_named_with_its_line(
    kds_call: Run, files: tuple[str, str, str]
) -> None:
    jsonl("test.jsonl", (*TEST, {"text": "explode", "intent": "boom"}))
    refused(kds_call("eval", "intents", *files), "test.jsonl:5: unknown intent 'boom'")
