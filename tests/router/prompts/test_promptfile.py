"""What a prompt file says is read, with the examples beside it; what can be wrong: faults.yaml."""

from pathlib import Path

import pytest

from kds.brain.errors import PromptFileError
from kds.router.prompts.library import PromptLibrary
from kds.router.prompts.promptfile import (
    PromptFile,
)

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


def write(root: Path, text: str | None, prompt: str = PROMPT) -> Path:
    folder = root / "internal"
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "dancer.md").write_text(prompt)
    if text is not None:
        (folder / "dancer.examples.yaml").write_text(text)
    return root


def dancer(root: Path) -> PromptFile:
    found = PromptLibrary.load(root).for_intent("DANCE")
    assert found is not None
    return found


def test_both_together_count_those_of_the_front_matter_first(tmp_path: Path) -> None:
    found = dancer(write(tmp_path, MORE))
    assert found.examples == ("dance with me", "two steps", "a waltz", "one tango please")
    assert found.counter_examples == ("sing", "hum it")
    places = [Path(found.example_place(number)).name for number in range(5)]
    assert places[:4] == [
        *("dancer.md:5", "dancer.md:5"),
        *("dancer.examples.yaml:2", "dancer.examples.yaml:3"),
    ]
    assert places[4] == "dancer.examples.yaml:1"  # of what was learned: it stands in no file


def test_a_link_out_of_the_folder_is_refused(tmp_path: Path) -> None:
    root = write(tmp_path / "prompts", None)
    (tmp_path / "secret.yaml").write_text(MORE)
    (root / "internal" / "dancer.examples.yaml").symlink_to(tmp_path / "secret.yaml")
    with pytest.raises(PromptFileError, match="is a link that leaves the prompts folder"):
        PromptLibrary.load(root)


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
