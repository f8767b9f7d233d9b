"""How much work a JSON Schema makes before any data is looked into: counted, never done.

Validating a value takes every subschema that applies to that same value (`allOf`, `not`, what a
`$ref` leads to, ...). Two references to one definition, which has two to the next, and so on:
thirty lines that take 2^30 steps. Here each definition is visited once.
"""

from collections.abc import Callable, Iterator, Mapping
from typing import Any, Final

MOST_NODES: Final = 5_000
"""Keys and items of a schema; a long one written by a person has some hundreds."""

MOST_STEPS: Final = 1_000
"""Subschemas that one value is held against."""

MOST_LINKS: Final = 40
"""Subschemas, one within the other, that apply to one value: validating recurses into them."""

REFERENCES: Final = ("$ref", "$dynamicRef")

_LISTS: Final = ("allOf", "anyOf", "oneOf")
_SINGLE: Final = ("not", "if", "then", "else", "unevaluatedProperties", "unevaluatedItems")
_MAPPINGS: Final = ("dependentSchemas",)

Lookup = Callable[[str], Any]
"""What a reference leads to."""


class StepCount:
    """Counts the steps of the subschemas of one schema, each once."""

    def __init__(self, lookup: Lookup) -> None:
        self._lookup = lookup
        self._known: dict[int, tuple[int, int]] = {}
        self._open: set[int] = set()

    def fault(self, schema: Any) -> str | None:
        """Say why ``schema`` is too much for one value; None when it is not."""
        try:
            self._count(schema)
        except _TooMuchError as error:
            self._open.clear()
            return str(error)
        return None

    def _count(self, schema: Any) -> tuple[int, int]:
        """Steps, and how many subschemas lie within one another at most."""
        if not isinstance(schema, Mapping):
            return 1, 1
        name = id(schema)
        if name in self._known:
            return self._known[name]
        if name in self._open:
            raise _TooMuchError("the schema refers to itself without end")
        if len(self._open) >= MOST_LINKS:
            raise _TooMuchError(_LONG)
        self._open.add(name)
        steps, links = 1, 1
        for inner in self._applied(schema):
            more, deeper = self._count(inner)
            steps, links = steps + more, max(links, deeper + 1)
            if steps > MOST_STEPS:
                raise _TooMuchError("the references of the schema multiply without measure")
            if links > MOST_LINKS:
                raise _TooMuchError(_LONG)
        self._open.discard(name)
        self._known[name] = steps, links
        return steps, links

    def _applied(self, schema: Mapping[str, Any]) -> Iterator[Any]:
        """The subschemas that apply to the value that ``schema`` applies to."""
        for key, value in schema.items():
            if key in REFERENCES and isinstance(value, str):
                yield self._lookup(value)
            elif key in _SINGLE:
                yield value
            elif key in _LISTS and isinstance(value, list):
                yield from value
            elif key in _MAPPINGS and isinstance(value, Mapping):
                yield from value.values()


_LONG: Final = f"more than {MOST_LINKS} parts of the schema lie within one another"


class _TooMuchError(Exception):
    """More than the limits above."""
