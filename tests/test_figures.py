"""The figures on real chats that the documentation tells are those the weights were chosen by."""

import json
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
FITTED = ROOT / "router" / "fitted"


def _figures(name: str) -> Any:
    return json.loads((FITTED / name).read_text())


def test_the_page_on_references_tells_what_was_written_and_right() -> None:
    page = (ROOT / "docs" / "references.md").read_text()
    figures = _figures("decision.json")["figures"]
    for row, source in (
        ("real chats, replies known", "chats"),
        ("real chats, replies not known", "chats without replies"),
        ("tidy dialogues", "dialogues"),
        ("tidy dialogues, replies known", "dialogues with replies"),
        ("talks typed without sight of the rules, replies not known", "own talks"),
    ):
        keys = ("proposed", "right", "written", "written and right")
        assert f"| {row} | {' | '.join(str(figures[source][key]) for key in keys)} |" in page


def test_the_readme_tells_how_often_intents_are_right_and_what_typed_talks_cost() -> None:
    chats = _figures("turns.json")["chats"]
    told = f"{chats['right when acted']:.0%} of {chats['acted on']:.0%}".replace("%", " %")
    readme = (ROOT / "README.md").read_text()
    assert f"| {told} |" in readme
    decided = _figures("decision.json")["figures"]["chats"]
    right = decided["written and right"]
    assert f"| {right} / {decided['written'] - right} |" in readme
    # Where only one side is known, more messages are changed for the worse than put right.
    decided = _figures("decision.json")["figures"]["own talks"]
    right = decided["written and right"]
    wrong = decided["written"] - right
    chats = [
        json.loads(line)["turns"]
        for path in (ROOT / "tests" / "chats").glob("*.jsonl")
        for line in path.read_text().splitlines()
    ]
    one_sided = sum(len(turns) for turns in chats if not any(turn["assistant"] for turn in turns))
    told = (
        f"{wrong / one_sided:.1%} of the messages are changed for the worse and"
        f" {right / one_sided:.1%} put right"
    )
    assert told.replace("%", " %") in readme
