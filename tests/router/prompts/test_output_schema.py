"""The schema of structured output: what loads, what does not, and what data fits."""

import json
import socket
from typing import Any

import pytest

from kds.brain.yaml_files import parse_yaml
from kds.router.prompts.promptfile import schema_faults, schema_problems

from ...effort import bounded


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
        "{$schema: 'https://json-schema.org/draft/2020-12/schema', type: object}",
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
        ("{type: object, properties: {a: {$ref: '#b'}}}", "nothing stands at '#b'"),
        ("{type: object, $ref: 'http://x/y.json'}", "refers to something outside"),
        ("{type: object, $defs: {a: {$id: 'http://x/y'}}}", "'$id' is not supported"),
        ("{type: object, $dynamicRef: 'other.json'}", "'$dynamicRef' is not supported"),
        ("{type: object, patternProperties: {a: {}}}", "'patternProperties' is not supported"),
        ("{type: object, properties: {a: {pattern: '^a'}}}", "'pattern' is not supported"),
        ("{type: object, properties: {next: {$ref: '#'}}}", "more than 5000 keys and items"),
    ],
)
def test_what_cannot_be_used_is_said_on_loading(schema: str, said: str) -> None:
    [problem] = _problems(schema)
    assert said in problem


_TWICE = {f"a{n}": {"allOf": [{"$ref": f"#/$defs/a{n + 1}"}] * 2} for n in range(26)}


@pytest.mark.parametrize(
    "schema",
    [
        {"type": "object", "enum": [{}] * 6000},
        {"type": "object", "$ref": "#/$defs/a0", "$defs": {**_TWICE, "a26": {}}},
    ],
)
def test_a_schema_beyond_all_measure_is_refused(schema: dict[str, Any]) -> None:
    with bounded():
        [problem] = _problems(json.dumps(schema))
    assert "more than 5000 keys and items" in problem


def test_nothing_is_fetched(monkeypatch: pytest.MonkeyPatch) -> None:
    def connect(*_: object) -> None:
        raise AssertionError("a schema went to the network")

    monkeypatch.setattr(socket.socket, "connect", connect)
    _problems("{type: object, properties: {a: {$ref: 'http://127.0.0.1:9/x.json'}}}")
    _problems("{$schema: 'http://127.0.0.1:9/meta.json', type: object}")
    schema = {"$schema": "http://127.0.0.1:9/meta.json", "type": "object"}
    assert schema_faults(schema, {"a": 1}) == []


def test_faults_say_where_and_what() -> None:
    schema = {
        "type": "object",
        "properties": {"steps": {"type": "array", "items": {"$ref": "#/$defs/step"}}},
        "required": ["steps", "risk"],
        "$defs": {"step": {"type": "string"}},
    }
    assert schema_faults(schema, {"steps": ["a", 2]}) == [
        "'risk' is a required property",
        "steps.1: 2 is not of type 'string'",
    ]
    assert schema_faults(schema, {"steps": [], "risk": 1}) == []


def test_data_that_is_too_deep_is_a_fault() -> None:
    deep: dict[str, Any] = {}
    for _ in range(50_000):
        deep = {"next": deep}
    schema = {"type": "object", "additionalProperties": {"type": "string"}}
    assert schema_faults(schema, deep) == ["the data is nested too deep"]
