"""The dialogue format: what it accepts, and how it refuses the rest."""

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kds.brain.errors import DialogueFileError
from kds.testing.dialogues import (
    Dialogue,
    find_dialogue_files,
    is_dialogue_file,
    parse_dialogues,
)

FAB = """
- id: fab-button
  turns:
    - {user: I want to add a FAB button, intent: PLAN}
    - user: Make it purple
      intent: [EXECUTE, CORRECT]
      context_ref: FAB button
      expanded: Make the FAB button purple
      secondary: [TEST]
      switch: true
"""


def _problems(text: str, name: str = "a.yaml") -> tuple[str, ...]:
    with pytest.raises(DialogueFileError) as caught:
        parse_dialogues(text, Path(name))
    return tuple(str(problem) for problem in caught.value.problems)


def test_a_scalar_stands_for_a_list_of_one() -> None:
    (dialogue,) = parse_dialogues(FAB, Path("a.yaml"))
    first, second = dialogue.turns
    assert (dialogue.id, dialogue.where) == ("fab-button", "a.yaml:2")
    assert (first.intents, first.expanded, first.switch, first.secondary) == (
        ("PLAN",),
        (),
        False,
        None,
    )
    assert second.intents == ("EXECUTE", "CORRECT")
    assert second.context_refs == ("FAB button",)
    assert second.expanded == ("Make the FAB button purple",)
    assert (second.secondary, second.switch, second.where) == (("TEST",), True, "a.yaml:5")


def test_json_and_yaml_mean_the_same() -> None:
    text = json.dumps([{"id": "a", "turns": [{"user": "Hi", "intent": ["ASK"]}]}], indent="\t")
    (from_json,) = parse_dialogues(text, Path("a.json"))
    (from_yaml,) = parse_dialogues("- id: a\n  turns: [{user: Hi, intent: ASK}]", Path("a.yaml"))
    assert from_json.turns[0].intents == from_yaml.turns[0].intents
    assert from_json.turns[0].user == from_yaml.turns[0].user


def test_every_problem_of_a_file_is_reported_at_once_with_its_line() -> None:
    problems = _problems(
        """
- id: a
  turn: []
- id: a
  turns:
    - {user: 12, expandd: x}
    - {user: "", switch: "yes"}
    - hello
- 3
"""
    )
    text = "\n".join(problems)
    for expected in (
        "a.yaml:3: unknown key 'turn' (in item 1)\n  fix: did you mean 'turns'?",
        "a.yaml:6: unknown key 'expandd' (in item 2, turns, item 1)\n  fix: did you mean",
        "a.yaml:6: 'user' (in item 2, turns, item 1) must be text, not 12",
        "a.yaml:7: 'user' (in item 2, turns, item 2) must not be empty",
        "a.yaml:7: 'switch' (in item 2, turns, item 2) must be true or false",
        "a.yaml:8: item 3 (in item 2, turns) must be a mapping, not 'hello'",
        "a.yaml:9: item 3 must be a mapping, not 3",
        "a.yaml:4: id 'a' is already used at a.yaml:2",
    ):
        assert expected in text
    assert len(problems) == 8


@pytest.mark.parametrize("text", ["", "[]", "3", "null", "just text"])
def test_a_file_without_dialogues_is_refused(text: str) -> None:
    assert "no dialogues" in _problems(text)[0]


def _read(text: str, name: str) -> tuple[Dialogue, ...] | DialogueFileError:
    try:
        return parse_dialogues(text, Path(name))
    except DialogueFileError as error:
        return error


@given(st.text(max_size=60))
def test_any_text_is_read_or_refused(text: str) -> None:
    for name in ("a.yaml", "a.json"):
        result = _read(text, name)
        assert isinstance(result, tuple) or result.problems


_json = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=8),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.sampled_from(["id", "turns", "user", "intent", "x"]), inner)
    ),
    max_leaves=8,
)


@given(_json)
def test_any_data_is_read_or_refused(data: object) -> None:
    result = _read(json.dumps(data), "a.json")
    if isinstance(result, tuple):
        assert all(turn.user for dialogue in result for turn in dialogue.turns)
    else:
        assert all(problem.where.startswith("a.json") for problem in result.problems)


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        ("tests/dialogues/fab.yaml", True),
        ("tests/dialogues/deep/fab.yml", True),
        ("tests/fab.dialogue.yaml", True),
        ("tests/fab.dialogue.json", True),
        ("tests/dialogues/data.json", False),
        ("tests/fab.yaml", False),
        ("dialogues.yaml", False),
    ],
)
def test_dialogue_files_are_known_by_name_or_folder(path: str, expected: bool) -> None:
    assert is_dialogue_file(Path(path)) is expected


def test_folders_are_searched_and_files_are_taken_as_named(tmp_path: Path) -> None:
    folder = tmp_path / "dialogues"
    folder.mkdir()
    for name in ("b.yaml", "a.yaml", "notes.md"):
        (folder / name).write_text(FAB)
    other = tmp_path / "any.json"
    other.write_text("[]")
    found = find_dialogue_files([folder, other, folder])
    assert [path.name for path in found] == ["a.yaml", "b.yaml", "any.json"]


def test_every_path_that_leads_nowhere_is_reported(tmp_path: Path) -> None:
    with pytest.raises(DialogueFileError) as caught:
        find_dialogue_files([tmp_path, tmp_path / "none.yaml"])
    assert [problem.message for problem in caught.value.problems] == [
        "no dialogue file in this folder",
        "no such file or folder",
    ]
