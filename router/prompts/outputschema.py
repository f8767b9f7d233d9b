"""The JSON Schema under `output` in a prompt file: checked when it loads, and held against data.

Schemas may come with a cloned project. They are read by draft 2020-12, refer to nothing outside
of themselves, and neither a pattern nor a tangle of references in them can run for ever: their
size is bounded when they load, steps and time when data is held against them.
`jsonschema` takes 80 ms to import, and few prompts declare an output: it is imported by those
that do.
"""

from collections.abc import Callable, Iterator, Mapping
from contextvars import ContextVar
from functools import cache
from itertools import islice
from typing import TYPE_CHECKING, Any, Final

import regex

from kds.brain.errors import Problem
from kds.brain.timeouts import Deadline
from kds.brain.yaml_files import Document, NodePath
from kds.router.pattern import SEARCH_LIMIT_S, Pattern

if TYPE_CHECKING:
    from jsonschema import ValidationError

MOST_NODES: Final = 5_000
"""Keys and items of a schema; a long one written by a person has some hundreds."""

REFERENCES: Final = ("$ref", "$dynamicRef")

MOST_FAULTS: Final = 5
"""Faults that are told at once: enough to mend an answer."""

FAULT_CHARS: Final = 200
"""Characters of one fault: they quote the data, which may be long."""

MOST_CHECKS: Final = 100_000
"""Keywords that are held against data: they take about a second."""

LIMIT_S: Final = 2.0
"""Seconds for one answer of a model, patterns included."""

_READ: Final = 100
"""Faults that are looked at: each quotes the data."""

_DIALECTS: Final = ("$schema", "$id")

_HINT: Final = "put it under '$defs', and use '#/$defs/...'"


class _Budget:
    """What is left for one check."""

    def __init__(self) -> None:
        self.checks = MOST_CHECKS
        self.deadline = Deadline(LIMIT_S)

    def spend(self) -> None:
        self.checks -= 1
        if self.checks < 0 or self.deadline.is_over:
            raise _SpentError


class _SpentError(Exception):
    """A check that takes too long."""


_BUDGET: Final[ContextVar[_Budget]] = ContextVar("budget")


def schema_problems(schema: Mapping[str, Any], front: Document, *, at: NodePath) -> list[Problem]:
    """Everything that keeps ``schema``, which stands at ``at`` in ``front``, from being used."""
    if schema.get("type") != "object":
        message = "the schema under 'output' does not describe an object"
        hint = "write 'type: object' and the fields under 'properties'"
        return [Problem(front.where((*at, "type")), message, hint)]
    if sum(1 for _ in islice(_nodes(schema, at), MOST_NODES + 1)) > MOST_NODES:
        message = f"the schema under 'output' has more than {MOST_NODES} keys and items"
        return [Problem(front.where(at), message, "describe less")]
    problems = list(_unsound(schema, front, at)) or list(_unusable(schema, front, at))
    return problems or list(_dangling(schema, front, at))


def schema_faults(schema: Mapping[str, Any], data: object) -> list[str]:
    """What of ``data`` does not fit ``schema``, in words; nothing when all of it does.

    >>> schema_faults({"type": "object", "required": ["answer"]}, {})
    ["'answer' is a required property"]
    """
    from referencing.exceptions import Unresolvable

    _BUDGET.set(_Budget())
    try:
        found = list(islice(_validator(schema).iter_errors(data), _READ))
    except RecursionError:
        return ["the data is nested too deep"]
    except _SpentError:
        return ["the data takes too long to check: it is too much for the output schema"]
    except (Unresolvable, ArithmeticError) as error:
        return [_cut(f"the data cannot be checked: {error}")]
    found.sort(key=lambda error: [str(part) for part in error.path])
    return [_cut(_told(error)) for error in found[:MOST_FAULTS]]


def _told(error: "ValidationError") -> str:
    place = ".".join(str(part) for part in error.path)
    return f"{place}: {error.message}" if place else str(error.message)


def _unsound(schema: Mapping[str, Any], front: Document, at: NodePath) -> Iterator[Problem]:
    """Where the schema breaks the rules of JSON Schema itself."""
    from jsonschema import Draft202012Validator

    checker = Draft202012Validator(Draft202012Validator.META_SCHEMA)
    for error in checker.iter_errors(schema):
        place = (*at, *error.path)
        message = f"'{place[-1]}' is not as JSON Schema has it: {_cut(error.message)}"
        hint = "see https://json-schema.org for what may stand there"
        yield Problem(front.where(place), message, hint)


def _unusable(schema: Any, front: Document, at: NodePath) -> Iterator[Problem]:
    """What JSON Schema allows and a prompt file does not."""
    for place, key, value in _nodes(schema, at):
        where = front.where(place)
        if key in REFERENCES and isinstance(value, str) and not value.startswith("#"):
            message = f"'{key}' refers to something outside of the file"
            yield Problem(where, message, _HINT)
        elif key in _DIALECTS and isinstance(value, str) and len(place) > len(at) + 1:
            # In there another draft would be read, without the limits, or from another root.
            yield Problem(where, f"'{key}' is not supported within a schema", "remove it")
        elif key == "patternProperties":
            hint = "use 'properties', or 'additionalProperties'"
            yield Problem(where, "'patternProperties' is not supported", hint)
        elif key == "pattern" and isinstance(value, str):
            made = Pattern.compile(value, where=where)
            if isinstance(made, Problem):
                yield made


def _dangling(schema: Mapping[str, Any], front: Document, at: NodePath) -> Iterator[Problem]:
    """References within the schema that lead nowhere."""
    from referencing.exceptions import Unresolvable

    resolver = _resolver(schema)
    for place, key, value in _nodes(schema, at):
        if key in REFERENCES and isinstance(value, str):
            try:
                resolver.lookup(value)
            except Unresolvable:
                yield Problem(front.where(place), f"nothing stands at '{value}'", _HINT)
                return


def _nodes(schema: Any, at: NodePath) -> Iterator[tuple[NodePath, str | int, Any]]:
    """Every key of the schema with its place, parents first."""
    if isinstance(schema, Mapping):
        pairs: Any = schema.items()
    else:
        pairs = enumerate(schema) if isinstance(schema, list) else ()
    for key, value in pairs:
        yield (*at, key), key, value
        yield from _nodes(value, (*at, key))


def _resolver(schema: Mapping[str, Any]) -> Any:
    from referencing import Registry
    from referencing.jsonschema import DRAFT202012

    registry: Registry[Any] = Registry()
    return registry.resolver_with_root(DRAFT202012.create_resource(schema))


def _validator(schema: Mapping[str, Any]) -> Any:
    """A validator that fetches nothing and keeps to the budget."""
    from referencing import Registry

    registry: Registry[Any] = Registry()
    own = {key: value for key, value in schema.items() if key != "$schema"}  # one draft for all
    return _bounded()(own, registry=registry)


@cache
def _bounded() -> Any:
    """Draft 2020-12, every keyword counted; its patterns are those of `regex`, with a limit."""
    from jsonschema import Draft202012Validator
    from jsonschema.validators import extend

    keywords = {**Draft202012Validator.VALIDATORS, "pattern": _pattern}
    counted = {name: _counted(keyword) for name, keyword in keywords.items()}
    return extend(Draft202012Validator, counted)  # type: ignore[no-untyped-call]  # it has no types


def _counted(keyword: Callable[..., Any]) -> Callable[..., Any]:
    def check(*given: Any) -> Any:
        _BUDGET.get().spend()
        return keyword(*given)

    return check


def _pattern(_: object, wanted: str, text: object, __: object) -> "Iterator[ValidationError]":
    from jsonschema import ValidationError

    if not isinstance(text, str):
        return
    try:
        found = regex.search(wanted, text, timeout=SEARCH_LIMIT_S)
    except TimeoutError:
        found = None
    if found is None:
        yield ValidationError(f"{text!r} does not match {wanted!r}")


def _cut(text: str) -> str:
    return text if len(text) <= FAULT_CHARS else f"{text[: FAULT_CHARS - 3]}..."
