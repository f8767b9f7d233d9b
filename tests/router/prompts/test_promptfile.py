"""What a prompt file says is read, with the examples beside it; what can be wrong: faults.yaml."""

from pathlib import Path

import pytest
import yaml

from kds.brain.errors import PromptFileError
from kds.router.prompts.library import PromptLibrary
from kds.router.prompts.promptfile import (
    ContextShift,
    PromptFile,
    read_prompt,
)

FAULTS = Path(__file__).parents[1] / "faults.yaml"
GOOD: str = yaml.safe_load(FAULTS.read_text("utf-8"))["sound"]["prompt"]

TRAITS = """\
context:
  - {when: question, after: [TEST, ASK], shift: 0.7}
  - {when: first, shift: -1}
absorbs: [ASK]
starts_session: true
corrects: true
only_looks: true
tools: [run_tests, search_memory]
"""


def parsed(text: str) -> PromptFile:
    prompt, problems = read_prompt(text, path=Path("a.md"), ref="prompts/internal/committer.md")
    assert prompt is not None, problems
    return prompt


def test_a_prompt_file_is_read_in_full() -> None:
    prompt = parsed(GOOD)
    assert (prompt.name, prompt.intent, prompt.priority) == ("committer", "COMMIT", 30)
    assert [pattern.weight for pattern in prompt.patterns] == [0.8, 0.9]
    assert [pattern.exact for pattern in prompt.patterns] == [False, True]
    assert prompt.patterns[1].where == "prompts/internal/committer.md:8"
    assert [pattern.source for pattern in prompt.excludes] == ["commit message"]
    assert prompt.inputs == ("message",)
    assert (prompt.confirm, prompt.handoffs, prompt.ask) == (True, ("TEST",), "commit the work")
    assert (prompt.context, prompt.absorbs, prompt.tools) == ((), (), ())
    assert (prompt.starts_session, prompt.corrects, prompt.only_looks) == (False, False, False)
    assert prompt.body_line == 18
    assert prompt.body.startswith("# Commit")


def test_what_follows_from_an_intent_is_read_from_its_file() -> None:
    prompt = parsed(GOOD.replace("confirm: true\n", TRAITS))
    assert prompt.context == (
        ContextShift(when="question", after=("TEST", "ASK"), shift=0.7),
        ContextShift(when="first", shift=-1.0),
    )
    assert (prompt.absorbs, prompt.tools) == (("ASK",), ("run_tests", "search_memory"))
    assert (prompt.starts_session, prompt.corrects, prompt.only_looks) == (True, True, True)


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
