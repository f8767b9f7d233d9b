"""Files of examples and dialogues: what they accept, and how they refuse the rest."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from kds.brain.errors import ExampleFileError
from kds.brain.turn import UNKNOWN
from kds.testing.chats import Chat
from kds.testing.dialogues import Dialogue, find_dialogue_files
from kds.testing.examples import SHOWN_PROBLEMS, Example, parse_examples, read_examples
from kds.testing.intents import LabelledMessage

GOOD = '{"text": "Make it purple", "intent": "EXECUTE"}'
FAB = """
- id: fab-button
  turns:
    - {user: I want to add a FAB button, intent: PLAN}
    - user: Make it purple
      intent: [execute, CORRECT]
      context_ref: FAB button
      expanded: Make the FAB button purple
      secondary: [TEST]
      switch: true
"""


def _file(folder: Path, *lines: str | bytes) -> Path:
    path = folder / "examples.jsonl"
    path.write_bytes(b"\n".join(x.encode() if isinstance(x, str) else x for x in lines))
    return path


def _problems(read: Callable[[], object]) -> list[str]:
    with pytest.raises(ExampleFileError) as caught:
        read()
    return [str(problem) for problem in caught.value.problems]


def _wrong(text: str, model: type[Example], name: str = "a.yaml") -> str:
    return "\n".join(_problems(lambda: parse_examples(text, Path(name), model)))


def test_rows_of_json_are_read_and_every_problem_comes_at_once(tmp_path: Path) -> None:
    odd = '{"text":"a","intent":["oos","card_x"],"id":3}\r'
    path = _file(tmp_path, b"\xef\xbb\xbf" + GOOD.encode(), "", "  ", odd)
    one, other = read_examples(path, LabelledMessage)
    assert (one.text, one.intents, other.text) == ("Make it purple", ("EXECUTE",), "a")
    assert (other.intents, other.where) == ((UNKNOWN, "card_x"), f"{path}:4")

    def found(*rows: str | bytes) -> list[str]:
        file = _file(tmp_path, *rows)
        return _problems(lambda: read_examples(file, LabelledMessage))

    problems = found('{"text": 3}', "no json", "[1]", GOOD, "", '{"txt": "a", "intent": []}')
    for problem, said in zip(problems, (
        ":1: 'text' (in item 1) must be text, not 3", ":1: key 'intent' (in item 1) is missing",
        ":2: is not JSON", ":3: item 2 must be a mapping", ":6: key 'text' (in item 4) is missing",
        ":6: 'intent' (in item 4) must have at least 1 items",
    ), strict=True):  # fmt: skip
        assert problem.startswith(f"{path}{said}")
        assert "\n  fix: " in problem
    assert "is 'txt' meant?" in problems[4]
    assert len(found(*["a,b,c"] * 500)) == SHOWN_PROBLEMS
    assert found(GOOD, b'{"text": "\xff"}')[0].startswith(f"{path}: is not UTF-8 text")
    assert "holds no examples" in found("")[0]
    for nothing in (tmp_path / "nowhere.jsonl", tmp_path):
        assert "cannot be read" in _problems(lambda: read_examples(nothing, Chat))[0]  # noqa: B023


def test_a_dialogue_means_the_same_as_yaml_and_json_and_a_scalar_is_a_list_of_one() -> None:
    (dialogue,) = parse_examples(FAB, Path("a.yaml"), Dialogue)
    first, second = dialogue.turns
    assert (dialogue.id, dialogue.where, second.where) == ("fab-button", "a.yaml:2", "a.yaml:5")
    assert (first.intents, first.expanded, first.switch, first.secondary) == (
        ("PLAN",), (), False, None,
    )  # fmt: skip
    assert (second.intents, second.context_refs) == (("EXECUTE", "CORRECT"), ("FAB button",))
    assert (second.expanded, second.secondary) == (("Make the FAB button purple",), ("TEST",))
    assert second.switch
    data = {"id": "a", "turns": [{"user": first.user, "intent": ["PLAN"], "secondary": None}]}
    for text, line in ((json.dumps([data], indent="\t"), 5), (json.dumps(data, indent=1), 4)):
        (read,) = parse_examples(text, Path("a.json"), Dialogue)
        assert read.turns[0].model_dump() == first.model_dump()
        assert read.turns[0].where == f"a.json:{line}"


def test_every_problem_of_a_dialogue_file_is_reported_at_once_with_its_line() -> None:
    text = """
- id: a
  turn: []
- id: a
  turns:
    - {user: 12, expandd: x}
    - {user: "", switch: "yes"}
    - hello
- 3
"""
    problems = _wrong(text, Dialogue)
    for expected in (
        "a.yaml:3: unknown key 'turn' (in item 1)\n  fix: did you mean 'turns'?",
        "a.yaml:6: unknown key 'expandd' (in item 2, turns, item 1)\n  fix: did you mean",
        "a.yaml:6: 'user' (in item 2, turns, item 1) must be text, not 12",
        "a.yaml:7: 'user' (in item 2, turns, item 2) must not be empty",
        "a.yaml:7: 'switch' (in item 2, turns, item 2) must be true or false",
        "a.yaml:8: item 3 (in item 2, turns) must be a mapping, not 'hello'",
        "a.yaml:9: item 3 must be a mapping, not 3",
    ):
        assert expected in problems
    assert problems.count("\n  fix: ") == 7
    assert "a.yaml:12: id 'fab-button' is already used at a.yaml:2" in _wrong(FAB + FAB, Dialogue)
    for nothing in ("", "[]", "null"):
        assert "holds no examples" in _wrong(nothing, Dialogue)


def test_folders_are_searched_and_paths_that_lead_nowhere_are_all_reported(tmp_path: Path) -> None:
    folder = tmp_path / "dialogues"
    folder.mkdir()
    for name in ("b.yaml", "a.yaml", "notes.md", "data.json"):
        (folder / name).write_text(FAB)
    other = _file(tmp_path, "[]")
    found = find_dialogue_files([folder, other, folder])
    assert [path.name for path in found] == ["a.yaml", "b.yaml", "examples.jsonl"]
    (tmp_path / "empty").mkdir()
    first, second = _problems(lambda: find_dialogue_files([tmp_path / "empty", tmp_path / "none"]))
    assert "no dialogue file in this folder" in first
    assert "no such file or folder" in second
