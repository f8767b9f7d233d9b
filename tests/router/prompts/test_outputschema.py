"""The schema of structured output: what loads, what does not, and what data fits."""

import json
import socket
from functools import partial
from itertools import count
from typing import Any

import pytest
from hypothesis import strategies as st

from kds.brain.timeouts import Deadline
from kds.brain.yaml_files import parse_yaml
from kds.router.prompts import outputschema
from kds.router.prompts.outputschema import (
    LIMIT_S,
    schema_faults,
    schema_problems,
)

from ...effort import bounded

ENDLESS = r"a.*a.*a.*a.*a.*a.*a.*z$"
"""A pattern that never ends with a text of two thousand a: no check when it loads can tell."""


def _problems(schema: str) -> list[str]:
    front = parse_yaml(f"output: {schema}\n", path="x.md")
    data: Any = front.data
    return [one.message for one in schema_problems(data["output"], front, at=("output",))]


@pytest.mark.parametrize(
    "schema",
    [
        "{type: object}",
        "{type: object, properties: {a: {type: [string, 'null']}}, required: [a]}",
        "{type: object, properties: {pattern: {type: string}, $ref: {type: string}}}",
        "{type: object, properties: {a: {$ref: '#/$defs/b'}}, $defs: {b: {type: integer}}}",
        "{type: object, properties: {next: {$ref: '#'}}}",
        "{type: object, properties: {a: {type: string, pattern: '^[a-z]+$'}}}",
        "{$schema: 'https://json-schema.org/draft/2020-12/schema', type: object}",
        "{type: object, $ref: '#/$defs/tree', $defs: {tree: {properties: {left: {$ref: "
        "'#/$defs/tree'}, right: {$ref: '#/$defs/tree'}}}}}",
    ],
)
def test_a_sound_schema_loads(schema: str) -> None:
    assert _problems(schema) == []


@pytest.mark.parametrize(
    ("schema", "said"),
    [
        ("{}", "does not describe an object"),
        ("{type: array}", "does not describe an object"),
        ("{type: object, required: a}", "'required' is not as JSON Schema has it"),
        ("{type: object, properties: {a: {minimum: low}}}", "'minimum' is not as JSON Schema has"),
        ("{type: object, properties: {a: {$ref: '#/$defs/b'}}}", "nothing stands at '#/$defs/b'"),
        ("{type: object, $ref: 'http://x/y.json'}", "refers to something outside"),
        ("{type: object, not: {$schema: 'http://x/y'}}", "'$schema' is not supported within"),
        ("{type: object, $defs: {a: {$id: 'http://x/y'}}}", "'$id' is not supported within"),
        ("{type: object, $dynamicRef: 'other.json'}", "refers to something outside"),
        ("{type: object, patternProperties: {a: {}}}", "'patternProperties' is not supported"),
        ("{type: object, properties: {a: {pattern: '('}}}", "invalid regex"),
    ],
)
def test_what_cannot_be_used_is_said_on_loading(schema: str, said: str) -> None:
    [problem] = _problems(schema)
    assert said in problem


def _doubled(levels: int) -> dict[str, Any]:
    """A schema whose every definition refers to the next one twice."""
    twice = {f"a{n}": {"allOf": [{"$ref": f"#/$defs/a{n + 1}"}] * 2} for n in range(levels)}
    return {"type": "object", "$ref": "#/$defs/a0", "$defs": {**twice, f"a{levels}": {}}}


@pytest.mark.parametrize("schema", [_doubled(26), {"type": "object", "$ref": "#"}])
def test_references_that_multiply_end_with_a_fault(schema: dict[str, Any]) -> None:
    with bounded():
        [fault] = schema_faults(schema, {"a": 1})
    assert "takes too long" in fault or "too deep" in fault


def test_a_schema_beyond_all_measure_is_refused() -> None:
    schema = {"type": "object", "enum": [{}] * 6000}
    [problem] = _problems(json.dumps(schema))
    assert "more than 5000 keys and items" in problem


def test_data_that_takes_too_long_to_check_is_a_fault() -> None:
    twice = {"anyOf": [{"$ref": "#", "maxProperties": 0}, {"$ref": "#"}]}
    schema = {"type": "object", "properties": {"next": twice}, "required": ["end"]}
    data: dict[str, Any] = {}
    for _ in range(25):
        data = {"next": data, "end": 1}
    with bounded():
        [fault] = schema_faults(schema, data)
    assert "takes too long" in fault


def test_data_is_not_checked_beyond_the_time_for_it(monkeypatch: pytest.MonkeyPatch) -> None:
    now = count(step=LIMIT_S / 4)
    monkeypatch.setattr(outputschema, "Deadline", partial(Deadline, clock=lambda: next(now)))
    schema = {"type": "object", "additionalProperties": {"type": "integer"}}
    assert schema_faults(schema, {"a": 1}) == []
    [fault] = schema_faults(schema, {str(number): number for number in range(9)})
    assert "takes too long" in fault


def test_another_draft_does_not_lift_the_limits() -> None:
    schema = {
        "$schema": "http://json-schema.org/draft-07/schema#",
        "type": "object",
        "properties": {"a": {"pattern": ENDLESS}, "b": {"$ref": "#"}},
    }
    with bounded():
        assert len(schema_faults(schema, {"b": {"a": "a" * 2000}})) == 1


def test_nothing_is_fetched(monkeypatch: pytest.MonkeyPatch) -> None:
    def connect(*_: object) -> None:
        raise AssertionError("a schema went to the network")

    monkeypatch.setattr(socket.socket, "connect", connect)
    _problems("{type: object, properties: {a: {$ref: 'http://127.0.0.1:9/x.json'}}}")
    _problems("{$schema: 'http://127.0.0.1:9/meta.json', type: object}")


def test_faults_say_where_and_what() -> None:
    schema = {
        "type": "object",
        "properties": {"steps": {"type": "array", "items": {"type": "string"}}},
        "required": ["steps", "risk"],
    }
    assert schema_faults(schema, {"steps": ["a", 2]}) == [
        "'risk' is a required property",
        "steps.1: 2 is not of type 'string'",
    ]
    assert schema_faults(schema, {"steps": [], "risk": 1}) == []


def test_a_pattern_cannot_run_for_ever() -> None:
    schema = {"type": "object", "properties": {"a": {"pattern": ENDLESS}}}
    with bounded():
        assert len(schema_faults(schema, {"a": "a" * 2000})) == 1


def test_data_that_is_too_deep_is_a_fault() -> None:
    deep: dict[str, Any] = {}
    for _ in range(5000):
        deep = {"next": deep}
    schema = {"type": "object", "properties": {"next": {"$ref": "#"}}}
    assert schema_faults(schema, deep) == ["the data is nested too deep"]


_JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    max_leaves=10,
)
