"""JSONL files of examples: every problem at once, with its line and the fix."""

from contextlib import suppress
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kds.brain.errors import ExampleFileError
from kds.brain.turn import UNKNOWN
from kds.testing.example_files import SHOWN_PROBLEMS
from kds.testing.intents import load_intents

GOOD = '{"text": "Make it purple", "intent": "EXECUTE"}'


def _file(folder: Path, *lines: str | bytes) -> Path:
    path = folder / "examples.jsonl"
    path.write_bytes(b"\n".join(x.encode() if isinstance(x, str) else x for x in lines))
    return path


def _problems(path: Path) -> list[str]:
    with pytest.raises(ExampleFileError) as caught:
        load_intents(path)
    return [str(problem).removeprefix(str(path)) for problem in caught.value.problems]


def test_blank_lines_a_byte_order_mark_and_other_keys_are_accepted(tmp_path: Path) -> None:
    path = _file(
        tmp_path, b"\xef\xbb\xbf" + GOOD.encode(), "", "  ", '{"text":"a","intent":"B","id":3}\r'
    )
    assert [one.text for one in load_intents(path)] == ["Make it purple", "a"]
    assert load_intents(path)[1].where == f"{path}:4"


def test_all_problems_of_a_file_come_at_once(tmp_path: Path) -> None:
    path = _file(
        tmp_path,
        '{"text": 3}',
        "no json",
        "[1]",
        GOOD,
        b'{"text": "\xff"}',
        '{"txt": "a", "intent": []}',
    )
    found = _problems(path)
    assert [problem.partition(": ")[0] for problem in found] == [
        ":1",
        ":1",
        ":2",
        ":3",
        ":5",
        ":6",
        ":6",
    ]
    assert "'text' must be text, not 3" in found[0]
    assert "'intent' is missing" in found[1]
    assert "is not JSON" in found[2]
    assert "must be an object" in found[3]
    assert "is not UTF-8" in found[4]
    assert "is 'txt' meant?" in found[5]
    assert "'intent' must have at least 1 items" in found[6]
    assert all("\n  fix: " in problem for problem in found)


def test_a_file_of_another_kind_does_not_fill_the_screen(tmp_path: Path) -> None:
    found = _problems(_file(tmp_path, *["a,b,c"] * 500))
    assert len(found) == SHOWN_PROBLEMS + 1
    assert "450 more problems" in found[-1]


def test_a_file_that_is_not_there_or_a_folder_is_refused(tmp_path: Path) -> None:
    assert "cannot be read" in _problems(tmp_path / "nowhere.jsonl")[0]
    assert "cannot be read" in _problems(tmp_path)[0]


def test_out_of_scope_has_two_names_and_an_intent_may_be_any_of_several(tmp_path: Path) -> None:
    path = _file(
        tmp_path, '{"text":"a","intent":"oos"}', '{"text":"b","intent":["UNKNOWN","card_x"]}'
    )
    assert [one.intents for one in load_intents(path)] == [(UNKNOWN,), (UNKNOWN, "card_x")]


@given(st.binary(max_size=60))
def test_any_bytes_are_read_or_refused(content: bytes) -> None:
    with TemporaryDirectory() as folder:
        path = _file(Path(folder), content)
        with suppress(ExampleFileError):
            assert load_intents(path)
