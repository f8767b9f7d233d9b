from pathlib import Path

import pytest

from kds.brain.errors import ConfigError
from kds.brain.turn import UNKNOWN
from kds.evaluation.intents.data import load_intents


def write(folder: Path, *lines: str) -> Path:
    path = folder / "messages.jsonl"
    path.write_text("\n".join(lines), encoding="utf-8")
    return path


def test_a_message_has_one_intent_or_any_of_several(tmp_path: Path) -> None:
    path = write(
        tmp_path,
        '{"text": "commit", "intent": "COMMIT"}',
        "",
        '{"text": "go on", "intent": ["EXECUTE", "RESUME"]}',
    )
    first, second = load_intents(path)
    assert (first.text, first.intents, first.where) == ("commit", ("COMMIT",), f"{path}:1")
    assert (second.intents, second.where) == (("EXECUTE", "RESUME"), f"{path}:3")


@pytest.mark.parametrize("name", ["oos", "UNKNOWN"])
def test_both_names_for_out_of_scope_mean_the_same(tmp_path: Path, name: str) -> None:
    (message,) = load_intents(write(tmp_path, f'{{"text": "hum", "intent": "{name}"}}'))
    assert message.intents == (UNKNOWN,)
    assert message.out_of_scope


def test_perhaps_out_of_scope_is_in_scope(tmp_path: Path) -> None:
    (message,) = load_intents(write(tmp_path, '{"text": "hum", "intent": ["PLAN", "oos"]}'))
    assert not message.out_of_scope


def test_all_problems_of_a_file_are_named_at_once(tmp_path: Path) -> None:
    path = write(
        tmp_path,
        "{not json",
        "[1]",
        '{"intent": "PLAN"}',
        '{"text": "a", "intent": []}',
        '{"text": "a", "intent": [3]}',
        '{"text": "fine", "intent": "PLAN"}',
    )
    with pytest.raises(ConfigError) as raised:
        load_intents(path)
    assert [problem.where for problem in raised.value.problems] == [
        f"{path}:{line}" for line in range(1, 6)
    ]
    assert all(problem.hint for problem in raised.value.problems)


@pytest.mark.parametrize("content", [b"", b"\n\n", b"\xff\xfe{}"])
def test_a_file_without_readable_messages_is_a_problem(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "messages.jsonl"
    path.write_bytes(content)
    with pytest.raises(ConfigError):
        load_intents(path)


def test_a_file_that_is_not_there_is_a_problem(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="cannot be read"):
        load_intents(tmp_path / "none.jsonl")
