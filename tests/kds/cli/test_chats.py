"""`kds eval chats`, as a user runs it."""

import json
import os
from pathlib import Path

import pytest

from ..conftest import Run, data, refused

IT = {
    "text": "it", "nth": 1, "kind": "pronoun", "antecedents": ["FAB button"], "source": "user",
    "must": True,
}  # fmt: skip
TURNS = [
    {"user": "I want to add a FAB button", "labelled": True, "intents": ["PLAN"], "refs": []},
    {"user": "Make it purple", "labelled": True, "intents": ["TEST"], "refs": [IT]},
]


@pytest.fixture
def file(workspace: Path) -> str:
    (workspace / "chats.jsonl").write_text(json.dumps({"id": "a", "turns": TURNS}) + "\n")
    return "chats.jsonl"


def test_the_table_has_the_baselines_beside_it(kds_call: Run, file: str) -> None:
    result = kds_call("eval", "chats", file)
    assert result.code == 0
    assert "never" in result.out
    assert "most recent noun" in result.out
    assert "turns changed for the worse" in result.out


def test_json_has_the_keys_of_the_measuring_script(kds_call: Run, file: str) -> None:
    told = data(kds_call("eval", "chats", file, "--json"))
    assert {"precision", "harmed", "must_recall_user", "acted", "ece", "ms_p99"} <= set(told)
    assert (told["turns"], told["must_user"]) == (2, 1)
    assert told["baselines"]["never"]["harmed"] == 0.0


def test_what_went_wrong_can_be_read_with_the_reasons(kds_call: Run, file: str) -> None:
    kds_call("eval", "chats", file, "--errors", "wrong.jsonl")
    (wrong,) = [json.loads(line) for line in Path("wrong.jsonl").read_text().splitlines()]
    assert (wrong["chat"], wrong["turn"], wrong["intents"]) == ("a", 2, ["TEST"])
    assert wrong["why"]


def test_the_curve_is_drawn_and_told_only_where_it_is_asked_for(kds_call: Run, file: str) -> None:
    pytest.importorskip("matplotlib", reason="needs the extra `eval`")
    plain = data(kds_call("eval", "chats", file, "--json"))
    drawn = data(kds_call("eval", "chats", file, "--json", "--plot", "curve.svg"))
    assert set(drawn) - set(plain) == {"curve"}
    (promised,) = [point for point in drawn["curve"] if point["promised"]]
    keys = ("precision", "harmed", "must_recall_user", "must_recall_assistant")
    assert [promised[key] for key in keys] == [drawn[key] for key in keys]
    assert promised["edits"] == drawn["edits_right"] == promised["right"] == 1
    assert "</svg>" in Path("curve.svg").read_text()


def test_a_picture_that_cannot_be_written_is_refused_before_the_work(
    kds_call: Run, file: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("os.access", lambda path, mode: mode != os.W_OK)  # root may write anywhere
    refused(kds_call("eval", "chats", file, "--plot", "curve.svg"), "'curve.svg' cannot be written")
