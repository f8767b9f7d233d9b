from pathlib import Path

import pytest

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
