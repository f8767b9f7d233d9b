"""`kds eval KIND FILE`, as a user runs it."""

import json
import sys
from pathlib import Path
from typing import Any, Final

import pytest
import yaml

from kds.brain.installation import install_line

from ..conftest import Run, data, jsonl, refused

pytestmark = pytest.mark.usefixtures("workspace")

DOCUMENTS: Final = Path(__file__).resolve().parents[2] / "documents"
DOCUMENT = """\
# Harbor Agreement

## 1 Definitions

"Determination Date" means the 12th day of each month.

"Closing Date" means March 14, 2031.

## 2 Days that are no Business Day

When the Determination Date falls on a weekend, it moves to the next Monday.

## 3 Reports

The Servicer sends its report in May.
"""
TALKS = """\
- id: dates
  document: agreement.md
  turns:
    - user: What is the Determination Date?
      find: {section: 1 Definitions, contains: the 12th day}
    - user: What happens if it falls on a weekend?
      expanded: What happens if the Determination Date falls on a weekend?
      refers_to: Determination Date
      find_all:
        - {section: "2 Days", contains: moves to the next Monday}
        - {section: "3 Reports", contains: sends its report}
    - user: When does the Servicer send its report?
      find: {section: "3", contains: in May}
"""
HISTORY = [{"role": "user", "content": "I want to add a FAB button"}]
IT = {"text": "it", "kind": "pronoun", "antecedents": ["FAB button"], "source": "user",
      "must": True}  # fmt: skip
TURNS = [
    {"user": "I want to add a FAB button", "labelled": True, "intents": ["PLAN"], "refs": []},
    {"user": "Make it purple", "labelled": True, "intents": ["TEST"], "refs": [IT]},
]
REWRITES = (
    {"history": HISTORY, "query": "Make it purple", "rewrite": ["Make the FAB button purple"]},
    {"history": HISTORY, "query": "Make it blue", "rewrite": ["Paint it black"]},
    {"history": HISTORY, "query": "Run the tests", "rewrite": ["Run the tests"]},
)
DIALOGUE = """
- id: fab
  turns:
    - {user: I want to add a FAB button}
    - {user: Make it purple, expanded: Make the FAB button purple}
    - {user: Make it round, expanded: Make the moon round}
"""
TRAIN = tuple(
    {"text": text.format(thing), "intent": intent}
    for thing in ("lamp", "heater", "radio", "kitchen light", "fan", "oven", "coffee machine", "tv")
    for text, intent in (
        ("switch the {} on", "on"),
        ("turn the {} off please", "off"),
        ("how much power does the {} need", "power"),
        ("tell me a story about a {}", "oos"),
    )
)
INTENTS = (
    {"text": "I want to add a FAB button", "intent": "PLAN"},
    {"text": "commit my changes", "intent": ["COMMIT", "TEST"]},
    {"text": "commit everything now", "intent": "PLAN"},
    {"text": "tell me a story about dragons", "intent": "oos"},
)
TALK = ("Which port does staging use?", "It listens on 8081.", "Thanks!", "I went to the dentist.")
MEMORIES = {
    "conversations": [
        {"id": name, "messages": [{"id": str(at), "content": said} for at, said in enumerate(TALK)]}
        for name in ("a", "b")
    ],
    "queries": [
        {"conversation": name, "query": query, "relevant": [relevant], "category": category}
        for name in ("a", "b")
        for query, relevant, category in (
            ("staging port", "1", "port"), ("When did I go to the dentist?", "3", "time"),
        )
    ],
}  # fmt: skip

KEYS = {
    "chats": "turns follow_ups changed edits_right edits_wrong edits_false precision harmed "
    "must_user must_recall_user must_assistant must_recall_assistant intents acted "
    "intent_right_when_acted ece ms_p50 ms_p99",
    "dialogues": "dialogues turns intent_accuracy needed expanded_exact context_ref_accuracy kept "
    "false_rewrites switch_accuracy secondary_accuracy ms_p50 ms_p99",
    "rewrites": "turns exact bleu needed needed_exact needed_bleu signal_precision signal_recall "
    "false_rewrites ms_p50 ms_p99",
    "intents": "accuracy oos_recall_at_95 ece acted_precision coverage oos_acted train_s ms_p50 "
    "ms_p99",
    "retrieval": "queries recall_at_5 recall_at_10 ndcg_at_5 by_category ms_p50 ms_p95",
    "follow-ups": "talks questions follow_ups resolved exact kept of_follow_ups of_others "
    "session_hits ms_p50 ms_p95",
}
"""Keys of `--json`, which programs elsewhere rely on."""

FIGURES: dict[str, dict[str, object]] = {
    "chats": {"turns": 3, "must_user": 2},
    "dialogues": {"expanded_exact": 0.5},
    "rewrites": {"turns": 3, "needed": 2, "exact": 0.6667, "needed_exact": 0.5},
    "intents": {"accuracy": 0.6667},
    "retrieval": {"recall_at_5": 1.0, "recall_at_10": 1.0},
    "follow-ups": {"talks": 1, "questions": 3, "follow_ups": 1, "resolved": 1, "kept": 1},
}
"""What the examples below come to."""


def _file(kind: str) -> list[str]:
    """Write a file of that kind; the arguments that measure on it."""
    chats = ({"id": "a", "turns": [*TURNS, TURNS[1]]},)
    if rows := {"chats": chats, "rewrites": REWRITES, "intents": INTENTS}.get(kind):
        return [kind, jsonl("rows.jsonl", rows)]
    Path("agreement.md").write_text(DOCUMENT)
    name, text = {"dialogues": ("a.yaml", DIALOGUE), "retrieval": ("r.json", json.dumps(MEMORIES)),
                  "follow-ups": ("talks.yaml", TALKS)}[kind]  # fmt: skip
    Path(name).write_text(text)
    return [kind, name]


def _wrong(path: str = "wrong.jsonl") -> list[dict[str, Any]]:
    return [json.loads(line) for line in Path(path).read_text().splitlines()]


@pytest.mark.parametrize("kind", KEYS)
def test_each_kind_prints_the_figures_of_its_examples_and_leaves_the_workspace_alone(
    kind: str, kds_call: Run, fitted_workspace: Path
) -> None:
    arguments = _file(kind)
    before = sorted(fitted_workspace.rglob("*"))
    result = kds_call("eval", *arguments, "--json")
    assert (result.code, result.err) == (0, "")
    figures = json.loads(result.out)
    assert list(figures) == KEYS[kind].split()
    assert figures | FIGURES[kind] == figures
    assert sorted(fitted_workspace.rglob("*")) == before
    shown = kds_call("eval", *arguments).out
    assert [key for key in figures if key not in shown] == []


def test_wrong_outcomes_are_written_with_the_reasons(kds_call: Run, fitted_workspace: Path) -> None:
    found = {}
    for kind in KEYS:
        assert kds_call("eval", *_file(kind), "--errors", "wrong.jsonl").code == 0
        found[kind] = _wrong()
    chat = found["chats"][0]
    assert (chat["chat"], chat["turn"], chat["intents"]) == ("a", 2, ["TEST"])
    assert chat["why"]
    assert [(row["id"], row["where"]) for row in found["dialogues"]] == [("fab", "a.yaml:6")]
    assert [row["intent"] for row in found["intents"]] == ["COMMIT"]
    assert found["retrieval"] == []
    (rewrite,) = found["rewrites"]
    assert (rewrite["where"], rewrite["actual"]) == ("rows.jsonl:2", "Make the FAB button blue")
    assert rewrite["needed"]
    assert rewrite["changed"]
    assert rewrite["why"]
    Path("again.jsonl").write_text(json.dumps(rewrite))
    assert data(kds_call("eval", "rewrites", "again.jsonl", "--json"))["turns"] == 1


@pytest.mark.usefixtures("fitted_workspace")
def test_sixty_follow_ups_are_understood_by_the_rules_alone_and_answered(kds_call: Run) -> None:
    found = data(kds_call("eval", "follow-ups", str(DOCUMENTS / "follow_ups.yaml"), "--json"))
    assert found["follow_ups"] == 60
    assert found["resolved"] >= 0.90
    assert found["kept"] == 1.0
    recalls = found["of_follow_ups"]
    assert recalls["rewritten"]["recall@5"] >= 0.85
    assert recalls["rewritten"]["recall@5"] >= recalls["typed"]["recall@5"] + 0.2
    assert found["session_hits"] >= 0.60


def test_tuned_weights_are_written_on_request_and_without_sacrebleu_the_extra_is_named(
    kds_call: Run, workspace: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    result = kds_call("eval", *_file("retrieval"), "--tune", "--write", "--json")
    weights = json.loads(result.out)["tuning"]["weights"]
    written = yaml.safe_load((workspace / "kds-brain" / "settings.yaml").read_text())
    assert written["recall"] == {f"rerank_{name}": value for name, value in weights.items()}
    monkeypatch.setitem(sys.modules, "sacrebleu", None)
    refused(kds_call("eval", *_file("rewrites")), f"{install_line('eval')}")


def test_a_classifier_fitted_on_other_examples_is_scored_whole_or_over_draws(kds_call: Run) -> None:
    test = jsonl("test.jsonl", (
        {"text": "switch the heater on now", "intent": "on"},
        {"text": "how much power does it need", "intent": "off"},
        {"text": "tell me a story about dragons", "intent": "oos"},
    ))  # fmt: skip
    asked = ("eval", "intents", test, "--train", jsonl("train.jsonl", TRAIN), "--json")
    whole = data(kds_call(*asked))
    assert (whole["accuracy"], whole["train_s"] > 0, "std" in whole) == (0.5, True, False)
    drawn = data(kds_call(*asked, "--shots", "3", "--seeds", "2"))
    assert set(drawn["std"]) == set(drawn) - {"std"}


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["chats", "none.jsonl"], "none.jsonl"),
        (["chats", "bad.json"], "bad.json:1"),
        (["chats", "bad.json", "--errors", "bad.json"], "is the file of examples itself"),
        (["follow-ups", "none.yaml"], "none.yaml"),
        (["follow-ups", "bad.yaml"], "bad.yaml:5"),
        (["retrieval", "bad.json", "--write"], "add --tune"),
        (["retrieval", "bad.json"], "bad.json:1: key 'queries' (in item 1) is missing"),
        (["rewrites", "bad.json", "--errors", "./bad.json"], "fix: write to another file"),
        (["rewrites", "bad.json", "--tune"], "fix: it is for retrieval: leave it out"),
        (["intents", "odd.jsonl", "--shots", "3"], "add --train"),
        (["intents", "odd.jsonl", "--train", "one.jsonl", "--seeds", "3"], "add --shots"),
        (["intents", "odd.jsonl", "--train", "one.jsonl"], "a classifier needs two"),
        (["intents", "odd.jsonl", "--train", "nowhere.jsonl"], "check the path"),
        (["intents", "odd.jsonl"], "odd.jsonl:1: unknown intent 'boom'"),
        (["intent", "test.jsonl"], "'intent' is not one of 'chats'"),
    ],
)
def test_bad_arguments_are_refused_with_a_fix(
    kds_call: Run, arguments: list[str], said: str
) -> None:
    Path("bad.json").write_text('{"conversations": []}\n')
    Path("bad.yaml").write_text(DOCUMENT)
    jsonl("one.jsonl", TRAIN[:1])
    jsonl("odd.jsonl", ({"text": "explode", "intent": "boom"},))
    refused(kds_call("eval", *arguments), said)
