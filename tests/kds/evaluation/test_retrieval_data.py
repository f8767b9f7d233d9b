"""Reading conversations with known answers."""

import json
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from kds.brain.errors import ExampleFileError
from kds.evaluation.retrieval_data import EPOCH, RETRIEVAL_FORM, read_retrieval

MESSAGES: list[dict[str, Any]] = [
    {"id": "m1", "role": "user", "speaker": "Ann", "at": "1:56 pm on 8 May, 2023", "content": "Hi"},
    {"id": 2, "role": "assistant", "content": "Hello", "more": 1},
]
QUERY: dict[str, Any] = {"conversation": "c", "query": "Who?", "relevant": "m1", "category": 3}


def _written(path: Path, messages: Any = MESSAGES, queries: Any = (QUERY,)) -> Path:
    data = {"conversations": [{"id": "c", "messages": messages}], "queries": list(queries)}
    path.write_text(json.dumps(data))
    return path


def _problems(path: Path) -> str:
    with pytest.raises(ExampleFileError) as caught:
        read_retrieval(path)
    return str(caught.value)


def test_a_file_is_read(tmp_path: Path) -> None:
    data = read_retrieval(_written(tmp_path / "r.json"))
    first, second = data.conversations[0].messages
    assert first.at == datetime(2023, 5, 8, 13, 56, tzinfo=UTC)
    assert (first.speaker, second.speaker) == ("Ann", None)
    assert (second.id, second.at) == ("2", EPOCH.replace(minute=1))
    assert data.queries[0].relevant == ["m1"]
    assert data.queries[0].category == "3"


def test_the_form_in_the_hints_can_be_read(tmp_path: Path) -> None:
    path = tmp_path / "r.json"
    path.write_text(RETRIEVAL_FORM)
    assert len(read_retrieval(path).queries) == 1


@pytest.mark.parametrize(
    ("messages", "queries", "problem"),
    [
        (
            [{"id": "m1", "content": 3}],
            (QUERY,),
            "'content' (in conversations, item 1, messages, item",
        ),
        (
            [{"content": "x"}],
            (QUERY,),
            "key 'id' (in conversations, item 1, messages, item",
        ),
        ([], (QUERY,), "'messages' (in conversations, item 1) must have at least 1"),
        (MESSAGES, (), "'queries' must have at least 1"),
        ([MESSAGES[0], MESSAGES[0]], (QUERY,), "conversation 'c' has several messages 'm1'"),
        (
            MESSAGES,
            (QUERY | {"relevant": ["x"]},),
            "item 1): there is no message 'x'",
        ),
        (MESSAGES, (QUERY | {"conversation": "d"},), "there is no conversation 'd'"),
        ([MESSAGES[0] | {"at": "soon"}], (QUERY,), "messages, item 1) must be a time"),
        (
            [MESSAGES[0] | {"role": "robot"}],
            (QUERY,),
            "messages, item 1) must be 'user'",
        ),
    ],
)
def test_what_is_wrong_is_told_with_its_place(
    tmp_path: Path, messages: Any, queries: Any, problem: str
) -> None:
    path = _written(tmp_path / "r.json", messages, queries)
    told = _problems(path)
    assert told.startswith(str(path))
    assert problem in told


def test_all_problems_are_told_at_once(tmp_path: Path) -> None:
    told = _problems(_written(tmp_path / "r.json", [{"id": "m1"}, {"content": "x"}]))
    assert "'content' (in conversations, item 1, messages, item 1)" in told
    assert "'id' (in conversations, item 1, messages, item 2)" in told


@pytest.mark.parametrize("text", ["", "{", "[]", "3", "\xff", "[" * 100_000])
def test_what_is_no_such_file_is_refused(tmp_path: Path, text: str) -> None:
    path = tmp_path / "r.json"
    path.write_bytes(text.encode("latin-1"))
    assert str(path) in _problems(path)


def test_a_file_that_is_not_there_is_refused(tmp_path: Path) -> None:
    assert "cannot be read" in _problems(tmp_path / "gone.json")
