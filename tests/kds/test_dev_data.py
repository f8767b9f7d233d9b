"""What issue 2 asks of the development dialogues. They lie beside the repository, if at all."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

DATA = Path(__file__).resolve().parents[3] / "shared" / "data" / "dialogues"

pytestmark = pytest.mark.skipif(
    not DATA.is_dir(), reason=f"the development data is not here: {DATA}"
)


def _score(name: str, kds_call: Callable[..., Any]) -> dict[str, float]:
    result: dict[str, float] = json.loads(
        kds_call("eval", "dialogues", str(DATA / name), "--json").out
    )
    return result


def test_the_dialogues_come_out_as_well_as_asked(kds_call: Callable[..., Any]) -> None:
    result = _score("dev.json", kds_call)
    assert (result["turns"], result["needed"], result["kept"]) == (100, 51, 49)
    assert result["intent_accuracy"] >= 0.92
    assert result["expanded_exact"] >= 0.85
    assert result["context_ref_accuracy"] >= 0.88
    assert result["false_rewrites"] <= 0.03
    assert result["switch_accuracy"] == 1.0


def test_the_expansions_come_out_as_well_as_asked(kds_call: Callable[..., Any]) -> None:
    assert _score("expansions_dev.json", kds_call)["expanded_exact"] >= 0.85
