"""What activation promises, on the labelled libraries of the development data."""

import json
from pathlib import Path

import pytest

from kds.activation import Activator
from kds.brain.turn import Utterance

DATA = Path(__file__).parents[4] / "shared/data/skills/dev.jsonl"
LIBRARIES = ("react", "notras", "desales")


@pytest.mark.skipif(not DATA.exists(), reason="needs shared/data/skills/dev.jsonl beside the clone")
def test_the_best_entry_is_found_and_silence_is_kept_in_three_libraries() -> None:
    right = wanted = spoken = unwanted = 0
    for line in DATA.read_text("utf-8").splitlines():
        library = json.loads(line)
        if library["id"] not in LIBRARIES:
            continue
        activator = Activator.from_entries(
            {**entry, "body": entry["body_head"]} for entry in library["entries"]
        )
        for prompt in library["prompts"]:
            history = []
            for turn in prompt.get("history") or ():
                history.append(Utterance(turn["user"]))
                history.append(Utterance(turn.get("assistant") or "Done.", "assistant"))
            told = activator.suggest(prompt["text"], history)
            if prompt["expect"]:
                wanted += 1
                right += told.ranked[0][0] in prompt["expect"]
            else:
                unwanted += 1
                spoken += told.choice is not None
    assert right / wanted >= 0.66
    assert spoken / unwanted <= 0.05
