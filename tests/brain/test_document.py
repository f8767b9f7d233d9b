from pathlib import Path
from typing import Annotated, Literal

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import BaseModel, ConfigDict, Field

from kds.brain.errors import Problem
from kds.brain.yaml_files import MAX_BYTES, MAX_DEPTH, parse_yaml, read_text, validate


class Rule(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True)
    regex: str | None = None
    weight: Annotated[float, Field(gt=0, le=1)]


class Front(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True)
    name: Annotated[str, Field(min_length=1, max_length=10)]
    patterns: list[Rule] = []
    not_: Annotated[list[Rule], Field(alias="not")] = []
    confirm: bool = False


def problems_of(text: str, first_line: int = 1) -> list[str]:
    found = validate(parse_yaml(text, path="f.md", first_line=first_line), Front)
    assert isinstance(found, tuple), "expected problems"
    return [f"{problem.where} {problem.message} | {problem.hint}" for problem in found]


def test_a_value_of_a_list_is_told_with_its_nearest() -> None:
    class Chosen(BaseModel):
        mode: Literal["rules-first", "model-first"]

    for value, hint in (
        ("model-frist", "did you mean 'model-first'?"),
        ("7", "use 'rules-first' or 'model-first'"),
    ):
        found = validate(parse_yaml(f"mode: {value}\n", path="f.md"), Chosen)
        assert isinstance(found, tuple)
        assert found[0].message.startswith("'mode' must be 'rules-first' or 'model-first', not ")
        assert found[0].hint == hint


def test_all_problems_come_at_once_in_file_order() -> None:
    text = """\
name: a-name-too-long
confirm: "no"
paterns: []
patterns:
  - {regx: a, weight: 0.5}
  - {regex: 1, weight: 2}
  - word
not:
  - {regex: a, wieght: 1}
"""
    assert problems_of(text, first_line=2) == [
        "f.md:2 'name' must have at most 10 characters, not 'a-name-too-long' | shorten it",
        "f.md:3 'confirm' must be true or false, not 'no' | write true or false, without quotes",
        "f.md:4 unknown key 'paterns' | did you mean 'patterns'?",
        "f.md:6 unknown key 'regx' (in patterns, item 1) | did you mean 'regex'?",
        "f.md:7 'regex' (in patterns, item 2) must be text, not 1 | put the value in quotes",
        "f.md:7 'weight' (in patterns, item 2) must be 1.0 or less, not 2 | correct the number",
        "f.md:8 item 3 (in patterns) must be a mapping, not 'word' | write 'key: value' lines",
        "f.md:10 unknown key 'wieght' (in not, item 1) | did you mean 'weight'?",
    ]


@pytest.mark.parametrize(
    ("text", "line", "part"),
    [
        ("name: x\nb: c: d\n", 2, "not YAML"),
        ("name: x\nb: \x07\n", 2, "control characters"),
        ("a: &bomb [1, 2]\nb: [*bomb, *bomb]\n", 2, "alias"),
        ("a: !!python/object:os.system {}\n", 1, "tag"),
        ("a: 2001-99-01\n", 1, "cannot be read"),
        ("a: " + "9" * 5_000, 1, "too large a number"),
        ("a: " + "1:" * 5_000 + "1", 1, "too large a number"),
        ("a: 1\n? [x]\n: 1\n", 2, "key that is not text"),
        ("name: x\n---\nname: y\n", 2, "second YAML document"),
        ("", 1, "must be a mapping"),
        ("- " * (MAX_DEPTH + 5), 1, "nested too deeply"),
        ("[" * 100_000 + "\n", 1, "nested too deeply"),
    ],
)
def test_what_is_not_plain_yaml_is_a_problem_with_its_line(text: str, line: int, part: str) -> None:
    found = problems_of(text)
    assert len(found) == 1
    assert found[0].startswith(f"f.md:{line} ")
    assert part in found[0]


@pytest.mark.parametrize(
    ("content", "read"),
    [
        (b"\xef\xbb\xbfname: x\r\nb: 1\r\n", "name: x\nb: 1\n"),  # as Windows writes it
        (b"name: x\nd: \xff\n", "is not UTF-8 text"),
        (b"x" * (MAX_BYTES + 1), "is larger than"),
        (None, "No such file"),
    ],
    ids=["Windows", "not UTF-8", "too large", "missing"],
)
def test_a_file_is_read_or_a_problem(tmp_path: Path, content: bytes | None, read: str) -> None:
    if content is not None:
        (tmp_path / "a.md").write_bytes(content)
    found = read_text(tmp_path / "a.md")
    assert found == read or (isinstance(found, Problem) and read in found.message)


@given(st.text(max_size=200))
def test_any_text_parses_or_is_a_problem(text: str) -> None:
    document = parse_yaml(text, path="f")
    assert document.problems or document.line() >= 1
