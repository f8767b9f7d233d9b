"""`kds eval follow-ups`, as a user runs it; and the product on the documents of this folder."""

import json
from pathlib import Path
from typing import Final

import pytest

from ..conftest import Run, data
from ..evaluation.test_followup_scoring import DOCUMENT, TALKS

DOCUMENTS: Final = Path(__file__).resolve().parents[2] / "documents"


@pytest.fixture
def file(fitted_workspace: Path) -> str:
    (fitted_workspace / "agreement.md").write_text(DOCUMENT)
    (fitted_workspace / "talks.yaml").write_text(TALKS)
    return "talks.yaml"


def test_a_table_shows_both_with_rewriting_and_without(
    kds_call: Run, file: str, fitted_workspace: Path
) -> None:
    before = sorted(fitted_workspace.rglob("*"))
    result = kds_call("eval", "follow-ups", file)
    assert (result.code, result.err) == (0, "")
    assert "follow-ups, rewritten" in result.out
    assert "follow-ups, as typed" in result.out
    assert sorted(fitted_workspace.rglob("*")) == before, "the workspace is left alone"


def test_what_went_wrong_can_be_read(kds_call: Run, file: str) -> None:
    meant = Path(file).read_text().replace("refers_to: Determination", "refers_to: Closing")
    Path(file).write_text(meant.replace("expanded: What happens if", "expanded: Which"))
    result = kds_call("eval", "follow-ups", file, "--errors", "wrong.jsonl", "--json")
    assert json.loads(result.out)["follow_ups"] == 1
    (wrong,) = [json.loads(line) for line in Path("wrong.jsonl").read_text().splitlines()]
    assert (wrong["turn"], wrong["resolved"], wrong["recall@5"]) == (2, False, 0.5)
    assert wrong["found"]


def test_an_answer_that_stands_nowhere_is_a_fault_of_the_file(kds_call: Run, file: str) -> None:
    text = Path(file).read_text()
    Path(file).write_text(text.replace("in May", "in June").replace('"2 Days"', '"9 Days"'))
    result = kds_call("eval", "follow-ups", file)
    assert result.code == 2
    assert "talks.yaml:9: no section '9 Days' of agreement.md has a heading" in result.err
    assert "talks.yaml:13: no section '3' of agreement.md has 'in June'" in result.err


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
