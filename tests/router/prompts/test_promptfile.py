"""The examples of a prompt file and those in the file beside it; what can be wrong: faults.yaml."""

from pathlib import Path

import pytest

from kds.router.prompts.library import PromptLibrary

PROMPT = """---
name: dancer
description: Dances.
intent: DANCE
examples: [dance with me, two steps]
counter_examples: [sing]
inputs: [message]
---
{{ message }}
"""
MORE = "examples:\n  - a waltz\n  - one tango please\ncounter_examples:\n  - hum it\n"


def test_both_together_count_those_of_the_front_matter_first(tmp_path: Path) -> None:
    (tmp_path / "internal").mkdir()
    (tmp_path / "internal/dancer.md").write_text(PROMPT)
    (tmp_path / "internal/dancer.examples.yaml").write_text(MORE)
    found = PromptLibrary.load(tmp_path).get("dancer")
    assert found.examples == ("dance with me", "two steps", "a waltz", "one tango please")
    assert found.counter_examples == ("sing", "hum it")
    places = [Path(found.example_place(number)).name for number in range(5)]
    assert places[:4] == [
        *("dancer.md:5", "dancer.md:5"),
        *("dancer.examples.yaml:2", "dancer.examples.yaml:3"),
    ]
    assert places[4] == "dancer.examples.yaml:1"  # of what was learned: it stands in no file


def test_a_file_of_the_workspace_leaves_the_packaged_examples_behind(tmp_path: Path) -> None:
    """As a prompt file replaces the packaged one whole: no example comes from elsewhere."""
    (tmp_path / "internal").mkdir()
    text = PROMPT.replace("dancer", "debugger").replace("DANCE", "DEBUG")
    (tmp_path / "internal/debugger.md").write_text(text)
    found = PromptLibrary.load(tmp_path).for_intent("DEBUG")
    assert found is not None
    assert found.examples == ("dance with me", "two steps")


@pytest.mark.parametrize("own", ["", "counter_examples: [sing]\n", "examples: []\n"])
def test_a_copy_keeps_the_packaged_examples_until_it_names_its_own(
    tmp_path: Path, own: str
) -> None:
    """A copy of a prompt with other words keeps its examples."""
    (tmp_path / "internal").mkdir()
    packaged = PromptLibrary.load(None).get("debugger")
    text = packaged.path.read_text(encoding="utf-8").replace("intent:", f"{own}intent:", 1)
    (tmp_path / "internal/debugger.md").write_text(text)
    found = PromptLibrary.load(tmp_path).get("debugger")
    assert found.path != packaged.path
    assert found.examples == (() if own else packaged.examples)
