"""The Jinja environment for prompt files: sandboxed, strict, and bounded (DESIGN 7).

Prompt files of a workspace may come with a cloned repository, so they are held to what a
prompt needs: no private attributes, no changes to values, and a budget of steps and
characters for each rendering, so that no template can fill the memory or the day.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, Final

from jinja2 import FunctionLoader, StrictUndefined, Template, Undefined, nodes, pass_context
from jinja2.exceptions import SecurityError
from jinja2.runtime import Context, LoopContext
from jinja2.sandbox import ImmutableSandboxedEnvironment

from kds.router.prompts.budget import MAX_STEPS, current
from kds.router.prompts.metering import JOINED, ROUNDS, WEIGHED, Metering
from kds.router.prompts.textfilters import CHECKED, CHECKED_METHODS, OWN_FILTERS, divisible

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

TAKE_ITEMS: Final = frozenset(
    {
        *("dictsort", "groupby", "items", "join", "list", "map", "max", "min", "reject"),
        *("rejectattr", "reverse", "select", "selectattr", "sort", "sum", "unique"),
    }
)
"""Filters that do something for each item of what they are given: each item is a step."""

STRING_METHODS: Final = frozenset(
    {
        *("capitalize", "endswith", "islower", "isupper", "lower", "lstrip", "removeprefix"),
        *("removesuffix", "replace", "rstrip", "split", "splitlines", "startswith", "strip"),
        *("title", "upper"),
    }
)
"""Methods of text that do not blow it up (`ljust` and `format` can)."""

METHODS: Final[tuple[tuple[type | tuple[type, ...], frozenset[str]], ...]] = (
    (str, STRING_METHODS),
    (dict, frozenset({"get", "items", "keys", "values"})),
    (tuple, frozenset({"count", "grouper", "index", "list"})),
    (list, frozenset({"count", "index"})),
    ((bool, int, float, bytes, range), frozenset()),
)
"""Methods of the other values: those of numbers and of `dict` itself can fill the memory."""

Load = Callable[[str], tuple[str, str, Callable[[], bool]] | None]
"""Gives the source, file name and freshness check of a template by name, as Jinja wants them."""


class _Environment(ImmutableSandboxedEnvironment):
    """Jinja's sandbox, with a budget for whatever takes time or memory."""

    intercepted_binops = frozenset({"+", "-", "*", "/", "//", "%", "**"})

    def _generate(self, source: nodes.Template, *args: Any, **kwargs: Any) -> str:
        return super()._generate(Metering().visit(source), *args, **kwargs)

    def concat(self, chunks: Iterable[str]) -> str:
        """The text of a macro or block."""
        return "".join(_counted(chunks))

    def get_template(self, *args: Any, **kwargs: Any) -> Template:
        """Includes that include each other's copies are steps too."""
        current().step()
        return super().get_template(*args, **kwargs)

    def call(self, context: Context, obj: Any, /, *args: Any, **kwargs: Any) -> Any:
        owner = getattr(obj, "__self__", None)
        kwargs.pop("_loop_vars", None)
        kwargs.pop("_block_vars", None)
        if isinstance(owner, str) and (check := CHECKED_METHODS.get(obj.__name__)):
            check(owner, *args, **kwargs)
        if isinstance(obj, LoopContext):
            args = tuple(current().rounds(arg) for arg in args)
        owned = (owner,) if isinstance(owner, str | list | tuple | dict) else ()
        return _metered(super().call, (context, obj), owned, args, kwargs)

    def call_binop(self, context: Any, operator_: str, left: Any, right: Any) -> Any:
        current().step()
        for value in (left, right):
            if isinstance(value, str | list | tuple) and operator_ == "+":
                current().weigh(value)
            elif not isinstance(value, int | float | Undefined):
                raise SecurityError(f"'{operator_}' is only for numbers")
        if operator_ == "**":
            raise SecurityError("'**' is not accepted")
        result = self.binop_table[operator_](left, right)
        current().weigh(result)
        return result

    def wrap_str_format(self, value: Any) -> None:
        """Give `format` no way around `is_safe_attribute`."""

    def is_safe_attribute(self, obj: Any, attr: str, value: Any) -> bool:
        for kind, allowed in METHODS:
            if isinstance(obj, kind):
                return attr in allowed
        return super().is_safe_attribute(obj, attr, value)


def sandbox(load: Load) -> ImmutableSandboxedEnvironment:
    """An environment whose templates come from ``load`` alone.

    It renders inside of `kds.router.prompts.budget.Rendering` only.
    """
    environment = _Environment(
        loader=FunctionLoader(load),
        undefined=StrictUndefined,
        autoescape=False,
        trim_blocks=True,
        lstrip_blocks=True,
        auto_reload=False,
        cache_size=-1,
        optimized=False,  # nothing of a template runs while it is compiled
        finalize=_written,
    )
    filters: dict[str, Callable[..., Any]] = {name: environment.filters[name] for name in FILTERS}
    filters |= OWN_FILTERS
    tests: dict[str, Any] = {**environment.tests, "divisibleby": divisible}
    hidden = {ROUNDS: _rounds, JOINED: _joined, WEIGHED: _weighed}
    environment.filters = {name: _filter(name, each) for name, each in filters.items()} | hidden
    environment.tests = {name: _filter(name, each) for name, each in tests.items()}
    environment.globals = {"range": _range, "namespace": environment.globals["namespace"]}
    return environment


def _filter(name: str, wrapped: Callable[..., Any]) -> Callable[..., Any]:
    """A filter or test that counts what it is given and what it makes."""
    check = CHECKED.get(name)

    @pass_context
    def metered(context: Context, value: Any = None, *args: Any, **kwargs: Any) -> Any:
        if check is not None:
            check(value, *args, **kwargs)
        if name in TAKE_ITEMS and isinstance(value, Iterable) and not isinstance(value, Undefined):
            items = list(current().rounds(value))
            value = value if isinstance(value, str | Mapping) else items
        return _metered(context.call, (wrapped,), (), (value, *args), kwargs)

    return metered


def _metered(
    call: Callable[..., Any],
    before: tuple[Any, ...],
    owner: tuple[Any, ...],
    args: tuple[Any, ...],
    kwargs: dict[str, Any],
) -> Any:
    """Call, and count a step, what goes in and what comes out. Lazy results are taken at once."""
    budget = current()
    budget.step()
    for value in (*owner, *args, *kwargs.values()):
        budget.weigh(value)
    result = call(*before, *args, **kwargs)
    if isinstance(result, Iterator) and not isinstance(result, LoopContext):
        result = list(budget.rounds(result))
    budget.weigh(result)
    return result


@pass_context
def _written(_: Context, value: Any) -> Any:
    """What an expression writes: plain values, whose length can be told."""
    if not isinstance(value, Undefined):
        current().weigh([value] if not isinstance(value, str) else value)
    return value


@pass_context
def _rounds(_: Context, items: Iterable[object]) -> Iterable[object]:
    return items if isinstance(items, Undefined) else current().rounds(items)


@pass_context
def _joined(_: Context, *values: Any) -> str:
    current().step()
    return "".join(str(_written(_, value)) for value in values)


@pass_context
def _weighed(_: Context, value: Any) -> Any:
    current().step()
    current().weigh(value)
    return value


def _counted(chunks: Iterable[str]) -> Iterator[str]:
    budget = current()
    for chunk in chunks:
        budget.spend(len(chunk))
        yield chunk


def _range(*bounds: int) -> range:
    for bound in bounds:
        current().weigh(bound)
    items = range(*bounds)
    if len(items) > MAX_STEPS:
        raise SecurityError(f"loops over more than {MAX_STEPS} numbers")
    return items
