"""What issues 2 and 5 ask of the development data, which lie beside the repository, if at all.

Of the LoCoMo dialogues the shortest of the five conversations is searched without a model;
`kds eval retrieval FILE` searches all.
"""

import json
from pathlib import Path

import pytest

from .conftest import Run, data

DATA = Path(__file__).resolve().parents[3] / "shared" / "data"
DIALOGUES = DATA / "dialogues"
SKILLS = DATA / "skills" / "dev.jsonl"
LOCOMO = DATA / "retrieval" / "locomo_dev.json"
SHORTEST = "conv-30"
LIBRARIES = ("react", "notras", "desales")

needs_dialogues = pytest.mark.skipif(not DIALOGUES.is_dir(), reason=f"not here: {DIALOGUES}")
needs_skills = pytest.mark.skipif(not SKILLS.is_file(), reason=f"not here: {SKILLS}")
needs_locomo = pytest.mark.skipif(not LOCOMO.is_file(), reason=f"not here: {LOCOMO}")

pytestmark = pytest.mark.usefixtures("fitted_workspace")


def _score(kds_call: Run, command: str, file: Path, *options: str) -> dict[str, float]:
    score: dict[str, float] = data(kds_call("eval", command, str(file), "--json", *options))
    return score


@needs_dialogues
def test_the_dialogues_come_out_as_well_as_asked(kds_call: Run) -> None:
    result = _score(kds_call, "dialogues", DIALOGUES / "dev.json")
    assert (result["turns"], result["needed"], result["kept"]) == (100, 51, 49)
    assert result["intent_accuracy"] >= 0.92
    assert result["expanded_exact"] >= 0.85
    assert result["context_ref_accuracy"] >= 0.88
    assert result["false_rewrites"] <= 0.03
    assert result["switch_accuracy"] == 1.0


@needs_dialogues
def test_the_expansions_come_out_as_well_as_asked(kds_call: Run) -> None:
    result = _score(kds_call, "dialogues", DIALOGUES / "expansions_dev.json")
    assert result["expanded_exact"] >= 0.85


@needs_locomo
def test_recall_without_a_model_is_as_good_as_asked(kds_call: Run, tmp_path: Path) -> None:
    everything = json.loads(LOCOMO.read_text())
    one = {
        "conversations": [one for one in everything["conversations"] if one["id"] == SHORTEST],
        "queries": [one for one in everything["queries"] if one["conversation"] == SHORTEST],
    }
    (tmp_path / "locomo.json").write_text(json.dumps(one))
    score = _score(kds_call, "retrieval", tmp_path / "locomo.json")
    assert score["queries"] == 105
    assert score["recall_at_10"] >= 0.82  # it is 0.856; 0.727 without a look at the neighbours
    assert score["ndcg_at_5"] >= 0.63  # it is 0.660; 0.629 when answers do not count their question


@needs_skills
def test_the_skill_is_found_and_silence_is_kept_in_three_libraries(
    kds_call: Run, tmp_path: Path
) -> None:
    rows = [line for line in SKILLS.read_text().splitlines() if json.loads(line)["id"] in LIBRARIES]
    (tmp_path / "skills.jsonl").write_text("\n".join(rows))
    score = _score(kds_call, "skills", tmp_path / "skills.jsonl")
    assert score["top1"] >= 0.66
    assert score["false_activation"] <= 0.05
