"""Edits of JSON text: the data changes as asked, and nothing else in the text does."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kds.clients.json_edit import JsonTextError, insert, parse_json_text, remove

ENTRY = {"command": "kds", "args": ["mcp"]}

_blanks = st.lists(
    st.sampled_from([" ", "\n", "\t", "\n    ", "/* note */", "// line, {\n", "\r\n"]), max_size=3
).map("".join)
_keys = st.text(st.sampled_from('ab"\\/ é'), max_size=3)
_leaves = st.none() | st.booleans() | st.integers(-9, 99) | _keys | st.just("// no comment")


@st.composite
def _texts(draw: st.DrawFn, depth: int = 2) -> str:
    """A JSONC text with comments, odd spacing and trailing commas."""
    shape = draw(st.sampled_from("[{s" if depth else "s"))
    if shape == "s":
        return json.dumps(draw(_leaves), ensure_ascii=draw(st.booleans()))
    parts = draw(st.lists(_texts(depth - 1), max_size=3))
    if shape == "{":
        keys = draw(st.lists(_keys, min_size=len(parts), max_size=len(parts), unique=True))
        parts = [
            f"{json.dumps(key)}{draw(_blanks)}:{draw(_blanks)}{part}"
            for key, part in zip(keys, parts, strict=True)
        ]
    inner = ",".join(f"{draw(_blanks)}{part}{draw(_blanks)}" for part in parts)
    trailing = draw(st.sampled_from(["", ","])) if parts else ""
    closing = "]" if shape == "[" else "}"
    return f"{shape}{inner}{trailing}{draw(_blanks)}{closing}"


_documents = _texts().filter(lambda text: text[0] == "{")


@given(st.recursive(_leaves, lambda inner: st.lists(inner) | st.dictionaries(_keys, inner)))
def test_plain_json_is_read_as_the_standard_library_reads_it(value: object) -> None:
    assert parse_json_text(json.dumps(value)).value() == value
    assert parse_json_text(json.dumps(value, indent="\t")).value() == value


@given(_documents, st.data())
def test_any_part_can_be_taken_out(text: str, data: st.DataObject) -> None:
    root = parse_json_text(text)
    paths = [
        (part.key, *deeper)
        for part in root.parts
        for deeper in [(), *[(each.key,) for each in part.node.parts]]
    ]
    if not paths:
        return
    path = data.draw(st.sampled_from(paths))
    cut = remove(text, path)
    expected = root.value()
    container: object = expected
    for key in path[:-1]:
        container = container[key]  # type: ignore[index]  # the paths come from the tree
    del container[path[-1]]  # type: ignore[attr-defined]
    assert parse_json_text(cut).value() == expected


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
def test_invalid_json_is_refused_with_its_place(
    text: str, message: str, line: int, column: int
) -> None:
    with pytest.raises(JsonTextError) as stop:
        parse_json_text(text)
    assert (stop.value.message, stop.value.line, stop.value.column) == (message, line, column)
