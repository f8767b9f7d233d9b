"""Chat files: what is read, and what is refused with its place."""

import json
from pathlib import Path
from typing import Any

import pytest

from kds.brain.errors import ExampleFileError
from kds.evaluation.chats.chat_file import read_chats

IT = {
    "text": "it", "nth": 2, "kind": "pronoun", "antecedents": ["FAB button"], "source": "user",
    "must": True,
}  # fmt: skip


def _file(folder: Path, *turns: dict[str, Any]) -> Path:
    path = folder / "chats.jsonl"
    path.write_text(json.dumps({"id": "a", "repo": "me/app", "turns": turns}) + "\n")
    return path


def test_a_reference_stands_at_its_nth_occurrence(tmp_path: Path) -> None:
    turn = {"user": "wait, make it it", "labelled": True, "intents": ["EXECUTE"], "refs": [IT]}
    (chat,) = read_chats(_file(tmp_path, turn))
    (found,) = chat.turns[0].references
    assert (chat.group, found.start, found.end) == ("me/app", 11, 13)


def test_something_left_out_stands_nowhere(tmp_path: Path) -> None:
    refs = [{**IT, "text": "", "kind": "ellipsis"}]
    (chat,) = read_chats(_file(tmp_path, {"user": "again", "labelled": True, "refs": refs}))
    assert (chat.turns[0].references[0].start, chat.turns[0].references[0].end) == (-1, -1)


@pytest.mark.parametrize(
    ("turn", "said"),
    [
        ({"assistant": "Done."}, "key 'user' (in turns, item 1) is missing"),
        ({"user": "it", "intents": "EXECUTE"}, "'intents' (in turns, item 1) must be a list"),
        ({"user": "it", "refs": {"text": "it"}}, "'refs' (in turns, item 1) must be a list"),
        ({"user": "it", "refs": [{**IT, "kind": "noun"}]}, "refs, item 1) must be 'pronoun'"),
        ({"user": "it", "refs": [{"text": "it"}]}, "'source' (in turns, item 1, refs, item 1)"),
    ],
)
def test_a_wrong_turn_is_named_with_its_line(
    tmp_path: Path, turn: dict[str, Any], said: str
) -> None:
    with pytest.raises(ExampleFileError) as wrong:
        read_chats(_file(tmp_path, turn))
    assert "chats.jsonl:1" in str(wrong.value)
    assert said in str(wrong.value)


OWN = sorted((Path(__file__).parents[3] / "chats").glob("*.jsonl"))


@pytest.mark.parametrize("path", OWN, ids=lambda path: path.stem)
def test_the_projects_own_chats_are_whole_and_each_has_a_group_of_its_own(path: Path) -> None:
    chats = read_chats(path)
    assert len({chat.group for chat in chats}) == len(chats) >= 20
    for turn in (turn for chat in chats for turn in chat.turns):
        assert turn.labelled
        assert turn.intents
        for ref in turn.references:
            assert ref.start < 0 or turn.user[ref.start : ref.end] == ref.text
