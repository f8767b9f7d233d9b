"""`kds eval rewrites|multi` and `kds rules check --dialogues`, as a user runs them."""

import json
import sys
from pathlib import Path

import pytest

from kds.brain.installation import install_line

from ..conftest import BAD_INPUT, Run, data, jsonl, refused
from ..evaluation.test_followup_scoring import DOCUMENT

pytestmark = pytest.mark.usefixtures("workspace")

HISTORY = [{"role": "user", "content": "I want to add a FAB button"}]
REWRITES = (
    {"history": HISTORY, "query": "Make it purple", "rewrite": ["Make the FAB button purple"]},
    {"history": HISTORY, "query": "Make it blue", "rewrite": ["Paint it black"]},
    {"history": HISTORY, "query": "Run the tests", "rewrite": ["Run the tests"]},
)
MULTI = (
    {"text": "Fix the login bug and run the tests", "intents": ["EXECUTE", "TEST"]},
    {"text": "I want to add a FAB button", "intents": ["PLAN"]},
    {"text": "Commit my changes", "intents": ["METRICS"]},
)
DIALOGUE = """
- id: fab
  turns:
    - {user: I want to add a FAB button}
    - {user: Make it purple, expanded: Make the FAB button purple}
    - {user: Make it round, expanded: Make the moon round}
"""


def test_rewrites_are_scored(kds_call: Run, workspace: Path) -> None:
    result = kds_call("eval", "rewrites", jsonl("r.jsonl", REWRITES), "--json")
    report = json.loads(result.out)
    assert (result.code, result.err) == (0, "")
    assert (report["turns"], report["needed"]) == (3, 2)
    assert report["exact"] == pytest.approx(2 / 3, abs=1e-4)
    assert (report["needed_exact"], report["signal_recall"]) == (0.5, 1.0)
    assert (report["false_rewrites"], report["copy"]["exact"]) == (0.0, 0.3333)
    assert 0 < report["bleu"] <= 100
    assert list(workspace.glob("kds-brain/*")) == []


def test_a_table_shows_the_copy_beside(kds_call: Run) -> None:
    out = kds_call("eval", "rewrites", jsonl("r.jsonl", REWRITES)).out
    assert "66.7%   33.3%" in out
    assert "false" not in out.lower()
    assert "kept turns changed wrongly" in out


def test_what_came_out_wrong_is_written_and_can_be_measured_again(kds_call: Run) -> None:
    kds_call("eval", "rewrites", jsonl("r.jsonl", REWRITES), "--errors", "wrong.jsonl")
    (wrong,) = [json.loads(line) for line in Path("wrong.jsonl").read_text().splitlines()]
    assert (wrong["where"], wrong["actual"]) == ("r.jsonl:2", "Make the FAB button blue")
    assert wrong["needed"] is True
    assert wrong["changed"] is True
    assert wrong["why"]
    assert data(kds_call("eval", "rewrites", "wrong.jsonl", "--json"))["turns"] == 1


def test_only_the_first_rewrites_count(kds_call: Run) -> None:
    file = jsonl("r.jsonl", REWRITES)
    assert data(kds_call("eval", "rewrites", file, "--limit", "1", "--json"))["turns"] == 1


def test_without_sacrebleu_the_extra_is_named(
    kds_call: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "sacrebleu", None)
    refused(kds_call("eval", "rewrites", jsonl("r.jsonl", REWRITES)), f"{install_line('eval')}")


def test_odd_text_is_measured(kds_call: Run) -> None:
    odd = ({"query": "\ud800 \x00 it", "rewrite": ["x"]}, {"query": "it " * 500, "rewrite": ["é"]})
    result = kds_call(
        "eval", "rewrites", jsonl("r.jsonl", odd), "--errors", "wrong.jsonl", "--json"
    )
    assert result.code == 0
    assert json.loads(Path("wrong.jsonl").read_text().splitlines()[0])["query"] == "�  it"


def test_several_intents_are_scored(kds_call: Run, fitted_workspace: Path) -> None:
    file = jsonl("m.jsonl", MULTI)
    report = data(kds_call("eval", "multi", file, "--json"))
    assert report == {"exact": 0.6667, "recall": 0.75, "false_splits": 0.0}
    shown = kds_call("eval", "multi", file).out
    assert "Commit my changes" in shown
    assert "METRICS" in shown
    assert not (fitted_workspace / "kds-brain" / "conversation-context.jsonl").exists()


@pytest.mark.parametrize(
    ("command", "arguments", "said"),
    [
        ("chats", ["none.jsonl"], "none.jsonl"),
        ("chats", ["bad.json"], "bad.json:1"),
        ("chats", ["good.json", "--errors", "good.json"], "names the file of examples itself"),
        ("chats", ["good.json", "--plot", "curve.gif"], "fix: end its name in .png or .svg"),
        ("chats", ["good.json", "--plot", "none/curve.svg"], "no such folder 'none'"),
        ("follow-ups", ["none.yaml"], "none.yaml"),
        ("follow-ups", ["bad.yaml"], "bad.yaml:5"),
        ("follow-ups", ["bad.yaml", "--errors", "no/such/x.jsonl"], "no such folder 'no/such'"),
        ("follow-ups", ["bad.yaml", "--errors", "bad.yaml"], "names the file of examples itself"),
        ("retrieval", ["bad.json", "--write"], "add --tune"),
        ("retrieval", ["bad.json"], "bad.json:1: key 'queries' is missing"),
        ("rewrites", ["good.json", "--errors", "no/x.jsonl"], "no such folder 'no'"),
        ("rewrites", ["good.json", "--errors", "./good.json"], "fix: give it a name of its own"),
    ],
)
def test_bad_input_is_refused_with_its_place(
    kds_call: Run, command: str, arguments: list[str], said: str
) -> None:
    Path("bad.json").write_text('{"conversations": []}\n')
    Path("bad.yaml").write_text(DOCUMENT)
    refused(kds_call("eval", command, *arguments), said)


@pytest.mark.parametrize("command", ["rewrites", "multi"])
@pytest.mark.parametrize(
    ("content", "problem"),
    [
        ("", "x.jsonl: holds no examples"),
        ("{}\nnonsense\n", "x.jsonl:2: the line is not JSON"),
        ("[]\n", "x.jsonl:1: the line must be an object"),
        (None, "x.jsonl: cannot be read"),
    ],
)
def test_a_wrong_file_is_refused_with_every_problem(
    command: str, content: str | None, problem: str, kds_call: Run
) -> None:
    if content is not None:
        Path("x.jsonl").write_text(content)
    result = kds_call("eval", command, "x.jsonl", "--json")
    assert result.code == BAD_INPUT
    told = json.loads(result.out)["error"]["problems"]
    assert problem in f"{told[0]['where']}: {told[0]['message']}" or len(told) > 1
    assert problem in result.err
    assert "fix: " in result.err
    if content and content.startswith("{}"):
        assert "x.jsonl:1: " in result.err


def test_the_record_of_the_rules_on_dialogues(kds_call: Run, fitted_workspace: Path) -> None:
    Path("a.yaml").write_text(DIALOGUE)
    result = kds_call("rules", "check", "--dialogues", "a.yaml", "--json")
    report = json.loads(result.out)
    assert result.code == 0
    it = next(record for record in report["record"] if record["rule"] == "pron.it")
    assert (it["fired"], it["right"], it["wrong"], it["wrong_at"]) == (2, 1, 1, ["a.yaml:6"])
    assert {"rule": "pron.person", "fired": 0, "right": 0, "wrong": 0, "wrong_at": []} in report[
        "record"
    ]
    shown = kds_call("rules", "check", "--dialogues", "a.yaml").out
    assert "a.yaml:6" in shown


def test_several_dialogue_files_may_follow_one_option(
    kds_call: Run, fitted_workspace: Path
) -> None:
    for name in ("a.yaml", "b.yaml"):
        Path(name).write_text(DIALOGUE)
    report = data(kds_call("rules", "check", "--dialogues", "a.yaml", "b.yaml", "--json"))
    assert sum(record["fired"] for record in report["record"]) == 4
    assert kds_call("rules", "check", "b.yaml").code == BAD_INPUT


def test_without_dialogues_there_is_no_record(kds_call: Run, fitted_workspace: Path) -> None:
    assert "record" not in data(kds_call("rules", "check", "--json"))
