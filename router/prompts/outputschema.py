"""The JSON Schema under `output` in a prompt file: checked when it loads, and held against data.

Schemas may come with a cloned project. They are read by draft 2020-12 and refer to nothing outside
of themselves; written out, with every reference followed, they are of limited size, so that a
check ends. `jsonschema` takes 80 ms to import, and few prompts declare an output: it is imported
by those that do.
"""

from collections.abc import Iterator, Mapping
from itertools import islice
from typing import Any, Final

from kds.brain.errors import Problem
from kds.brain.yaml_files import Document, NodePath

MOST_NODES: Final = 5_000
"""Keys and items of a schema, references followed; one written by a person has some hundreds."""

UNSUPPORTED: Final = ("pattern", "$id", "$dynamicRef")
"""Keywords that are left out: regexes can run for ever, the others lead out of the file."""

MOST_FAULTS: Final = 5
"""Faults that are told at once: enough to mend an answer."""

FAULT_CHARS: Final = 200
"""Characters of one fault: they quote the data, which may be long."""

_READ: Final = 100
"""Faults that are looked at: each quotes the data."""


def schema_problems(schema: Mapping[str, Any], front: Document, *, at: NodePath) -> list[Problem]:
    """Everything that keeps ``schema``, which stands at ``at`` in ``front``, from being used."""
    if schema.get("type") != "object":
        message = "the schema under 'output' does not describe an object"
        hint = "write 'type: object' and the fields under 'properties'"
        return [Problem(front.where((*at, "type")), message, hint)]
    nodes = list(islice(_nodes(schema, at), MOST_NODES + 1))
    if len(nodes) > MOST_NODES:
        message = f"the schema under 'output' has more than {MOST_NODES} keys and items"
        hint = "describe less; a definition cannot refer to itself"
        return [Problem(front.where(at), message, hint)]
    unusable = [
        Problem(front.where(place), message, hint)
        for place, key, value in nodes
        for message, hint in _unusable(schema, key, value)
    ]
    return unusable or list(_unsound(schema, front, at))


def schema_faults(schema: Mapping[str, Any], data: object) -> list[str]:
    """What of ``data`` does not fit ``schema``, in words; nothing when all of it does.

    >>> schema_faults({"type": "object", "required": ["answer"]}, {})
    ["'answer' is a required property"]
    """
    from jsonschema import Draft202012Validator
    from referencing import Registry

    one_draft = {key: value for key, value in schema.items() if key != "$schema"}
    validator = Draft202012Validator(one_draft, registry=Registry())
    try:
        found = list(islice(validator.iter_errors(data), _READ))
    except RecursionError:
        return ["the data is nested too deep"]
    except ArithmeticError as error:  # multipleOf, with a number beyond all measure
        return [_cut(f"the data cannot be checked: {error}")]
    found.sort(key=lambda error: [str(part) for part in error.path])
    return [
        _cut(": ".join(filter(None, (".".join(map(str, error.path)), error.message))))
        for error in found[:MOST_FAULTS]
    ]


def _unsound(schema: Mapping[str, Any], front: Document, at: NodePath) -> Iterator[Problem]:
    """Where the schema breaks the rules of JSON Schema itself."""
    from jsonschema import Draft202012Validator

    checker = Draft202012Validator(Draft202012Validator.META_SCHEMA)
    for error in checker.iter_errors(schema):
        place = (*at, *error.path)
        message = f"'{place[-1]}' is not as JSON Schema has it: {_cut(error.message)}"
        hint = "see https://json-schema.org for what may stand there"
        yield Problem(front.where(place), message, hint)


def _unusable(root: Mapping[str, Any], key: str | int, value: Any) -> Iterator[tuple[str, str]]:
    """What JSON Schema allows and a prompt file does not, and references that lead nowhere."""
    if key == "patternProperties":
        yield f"'{key}' is not supported", "use 'properties', or 'additionalProperties'"
    elif key in UNSUPPORTED and isinstance(value, str):
        yield f"'{key}' is not supported", "say it in a 'description'"
    elif key == "$ref" and isinstance(value, str) and _target(root, value) is None:
        outside = not value.startswith("#")
        message = f"'{key}' refers to something outside of the file"
        hint = "put it under '$defs', and use '#/$defs/...'"
        yield message if outside else f"nothing stands at '{value}'", hint


def _nodes(schema: Mapping[str, Any], at: NodePath) -> Iterator[tuple[NodePath, str | int, Any]]:
    """Every key and item with its place; behind a `$ref`, those of what it refers to."""
    queue: list[tuple[NodePath, Any]] = [(at, schema)]
    while queue:
        place, node = queue.pop()
        pairs: Any = node.items() if isinstance(node, Mapping) else ()
        for key, value in enumerate(node) if isinstance(node, list) else pairs:
            inner = (*place, key)
            yield inner, key, value
            followed = _target(schema, value) if key == "$ref" else None
            queue.append((inner, value if followed is None else followed))


def _target(root: Mapping[str, Any], reference: Any) -> Any:
    """What `#/...` refers to within ``root``; None where nothing stands."""
    node: Any = root
    if not isinstance(reference, str) or reference.partition("/")[0] != "#":
        return None
    for part in reference.split("/")[1:]:
        key = part.replace("~1", "/").replace("~0", "~")
        node = node.get(key) if isinstance(node, Mapping) else None
    return node


def _cut(text: str) -> str:
    return text if len(text) <= FAULT_CHARS else f"{text[: FAULT_CHARS - 3]}..."
