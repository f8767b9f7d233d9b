"""The command line and a model that rewrites: asking for it, measuring it, scoring it."""

import json
from pathlib import Path

import pytest

from ...agents.openai_server import (
    Asked,
    Failure,
    FakeProvider,
    Text,
)
from ..conftest import Run, data

pytestmark = pytest.mark.usefixtures("fitted_workspace")

VIEWS = "Create a settings view and a help view"
SCROLLABLE = "Make it scrollable"
GOOD = "Make the help view scrollable"
EXAMPLES = [
    {"history": [{"role": "user", "content": VIEWS}], "query": query, "rewrite": [rewrite]}
    for query, rewrite in (
        (SCROLLABLE, GOOD),
        ("Add a map", "Add a map"),
        ("Paint it", "Paint it"),
    )
]


@pytest.fixture
def examples(tmp_path: Path) -> Path:
    path = tmp_path / "follow-ups.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in EXAMPLES), encoding="utf-8")
    return path


def _answer(asked: Asked) -> Text | Failure:
    return Text(GOOD) if SCROLLABLE in asked.newest else Failure(500, "down")


def test_route_asks_the_model_also_where_the_rules_know(
    kds_call: Run, provider: FakeProvider
) -> None:
    provider.play(default=Text("Make the FAB button purple"))
    kds_call("route", "I want to add a FAB button")
    kds_call("route", "Make it purple", "--no-log")
    assert provider.asked == []
    turn = data(kds_call("route", "Make it purple", "--rewrite", "--json"))
    assert turn["expanded"] == "Make the FAB button purple"
    assert len(provider.asked) == 1


def test_eval_scores_the_model_beside_the_rules(
    kds_call: Run, provider: FakeProvider, examples: Path
) -> None:
    pytest.importorskip("sacrebleu")
    provider.play(default=_answer)
    rules = data(kds_call("eval", "rewrites", str(examples), "--json"))
    assert "rewrites" not in rules
    assert provider.asked == []
    asked = ("eval", "rewrites", str(examples), "--rewriter", "rules-first")
    model = data(kds_call(*asked, "--json"))
    assert model["exact"] > rules["exact"]
    assert model["rewrites"] | {"ms": 0} == {
        "count": 2, "asked": 2, "cached": 0, "used": 1, "unchanged": 0,
        "rejected": {}, "failed": {"provider": 1}, "resting": 0, "ms": 0,
    }  # fmt: skip
    assert "failed: provider" in kds_call(*asked).out
