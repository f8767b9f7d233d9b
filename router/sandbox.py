"""The Jinja environment for prompt files: sandboxed, strict, and bounded (DESIGN 7).

Prompt files of a workspace may come with a cloned repository, so they are held to what a
prompt needs: no private attributes, no changes to values, no way to fill memory or time
with one short expression.
"""

import json
import operator
from collections.abc import Callable
from typing import Any, Final, Literal

from jinja2 import FunctionLoader, StrictUndefined
from jinja2.exceptions import SecurityError
from jinja2.sandbox import ImmutableSandboxedEnvironment

MAX_LOOP_ITEMS: Final = 100_000
"""Items that all `range()` calls of one rendering may give together."""

FILTERS: Final = frozenset(
    {
        *("capitalize", "count", "d", "default", "dictsort", "first", "groupby", "indent", "int"),
        *("items", "join", "last", "length", "list", "lower", "map", "max", "min", "reject"),
        *("rejectattr", "replace", "reverse", "round", "select", "selectattr", "sort", "string"),
        *("sum", "title", "trim", "truncate", "unique", "upper", "wordcount"),
    }
)
"""What a prompt needs, besides `tojson`. The rest of Jinja's filters is for HTML, or can fill
the memory (`center`, `format`)."""

STRING_METHODS: Final = frozenset(
    {
        *("capitalize", "endswith", "islower", "isupper", "lower", "lstrip", "removeprefix"),
        *("removesuffix", "replace", "rstrip", "split", "splitlines", "startswith", "strip"),
        *("title", "upper"),
    }
)
"""Methods of text that do not blow it up (`ljust` and `format` can)."""

Load = Callable[[str], tuple[str, str, Callable[[], bool]] | None]
"""Gives the source, file name and freshness check of a template by name, as Jinja wants them."""


class _Environment(ImmutableSandboxedEnvironment):
    """Jinja's sandbox, without the operations that can fill the memory or the day."""

    intercepted_binops = frozenset({"*", "**", "%"})

    def call_binop(self, context: Any, operator_: str, left: Any, right: Any) -> Any:
        if operator_ == "**" or isinstance(left, str | list | tuple):
            raise SecurityError(f"'{operator_}' is only for numbers, and '**' not accepted")
        if isinstance(right, str | list | tuple):
            raise SecurityError(f"'{operator_}' is only for numbers")
        return operator.mul(left, right) if operator_ == "*" else operator.mod(left, right)

    def wrap_str_format(self, value: Any) -> None:
        """Give `format` no way around `is_safe_attribute`."""

    def is_safe_attribute(self, obj: Any, attr: str, value: Any) -> bool:
        if isinstance(obj, str) and attr not in STRING_METHODS:
            return False
        return super().is_safe_attribute(obj, attr, value)


def sandbox(load: Load) -> ImmutableSandboxedEnvironment:
    """An environment whose templates come from ``load`` alone."""
    environment = _Environment(
        loader=FunctionLoader(load),
        undefined=StrictUndefined,
        autoescape=False,
        trim_blocks=True,
        lstrip_blocks=True,
        auto_reload=False,
        cache_size=-1,
    )
    environment.filters = {name: environment.filters[name] for name in sorted(FILTERS)}
    environment.filters["tojson"] = _as_json
    kept = ("range", "namespace")
    environment.globals = {name: environment.globals[name] for name in kept}
    return environment


def bounded_range() -> Callable[..., range]:
    """A `range` for one rendering: all its calls together give at most MAX_LOOP_ITEMS."""
    left = MAX_LOOP_ITEMS

    def bounded(*bounds: int) -> range:
        nonlocal left
        items = range(*bounds)
        left -= min(len(items[: MAX_LOOP_ITEMS + 1]), MAX_LOOP_ITEMS + 1)
        if left < 0:
            raise SecurityError(f"loops over more than {MAX_LOOP_ITEMS} numbers")
        return items

    return bounded


def _as_json(value: object, indent: Literal[2] | None = None) -> str:
    return json.dumps(value, ensure_ascii=False, indent=indent)
