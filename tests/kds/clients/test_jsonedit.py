"""Edits of JSON text: the data changes as asked, and nothing else in the text does."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kds.clients.json_edit import JsonTextError, insert, parse_json_text, remove

ENTRY = {"command": "kds", "args": ["mcp"]}

_keys = st.text(st.sampled_from('ab"\\/ é'), max_size=3)
_leaves = st.none() | st.booleans() | st.integers(-9, 99) | _keys | st.just("// no comment")


@given(st.recursive(_leaves, lambda inner: st.lists(inner) | st.dictionaries(_keys, inner)))
def test_plain_json_is_read_as_the_standard_library_reads_it(value: object) -> None:
    assert parse_json_text(json.dumps(value)).value() == value
    assert parse_json_text(json.dumps(value, indent="\t")).value() == value


def test_in_and_out_again_gives_the_same_characters() -> None:
    for text in (
        '{\n  "a": 1\n}\n', '{\n\t"a": {\n\t\t"b": 1\n\t}\n}', '{\n  "a": 1,\n}\n', '{"a": 1}',
        '{\r\n    "a": 1,\r\n    "b": []\r\n}\r\n', '{"a": 1,}\n', "{}\n", '\ufeff{\n  "a": 1\n}\n',
        '{\n  // mine\n  "a": 1, // one\n  "b": 2 // two\n  /* end */\n}\n',
    ):  # fmt: skip
        assert remove(insert(text, (), "kds", ENTRY), ("kds",)) == text


@pytest.mark.parametrize(
    ("text", "message", "line", "column"),
    [
        ("", "expected a value, found the end of the file", 1, 1),
        ('{\n  "a": }', "expected a value, found '}'", 2, 8),
        ('{"a": 1 "b": 2}', "expected ',' or '}', found '\"'", 1, 9),
        ('{"a": 1}\n x', "text after the end of the JSON", 2, 2),
        ('{"a": 1,\n "a": 2}', "duplicate key 'a'", 2, 2),
        ("{a: 1}", "expected a string in quotes, found 'a'", 1, 2),
        ('{"a": [1, , 2]}', "expected a value, found ','", 1, 11),
        ('{"a": 01}', "'01' is not a number", 1, 7),
        ("[" * 200, "it is nested more than 100 deep", 1, 102),
        ('{"a": "x', "expected a string in quotes, found '\"'", 1, 7),
        ("{/* open", "expected a string in quotes, found '/'", 1, 2),
    ],
)
def test_invalid_json_is_refused(text: str, message: str, line: int, column: int) -> None:
    with pytest.raises(JsonTextError) as stop:
        parse_json_text(text)
    assert (stop.value.message, stop.value.line, stop.value.column) == (message, line, column)
