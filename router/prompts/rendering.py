"""Jinja templates in a sandbox: what a prompt file may say, and how it is rendered.

Templates come from the texts given here and from nowhere else: no path is ever opened, so includes
cannot leave the prompt folders. Text of the user enters only as variables and is never read as a
template. Prompt files of a workspace may come with a cloned repository: Jinja's sandbox keeps
them from private attributes, and a rendering has two seconds and an output of limited size.
"""

import json
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextvars import ContextVar
from dataclasses import dataclass, field
from traceback import walk_tb
from typing import Any, Final

from jinja2 import (
    Environment,
    FunctionLoader,
    StrictUndefined,
    TemplateError,
    TemplateSyntaxError,
    Undefined,
    meta,
    nodes,
    pass_context,
)
from jinja2.exceptions import SecurityError
from jinja2.filters import do_indent, do_round
from jinja2.runtime import Context
from jinja2.sandbox import ImmutableSandboxedEnvironment
from jinja2.visitor import NodeTransformer

from kds.brain.errors import DispatchError, Problem
from kds.brain.yaml_files import nearest

LIMIT_S: Final = 2.0
"""Seconds that one rendering may take. The packaged prompts take milliseconds."""

MAX_OUTPUT_CHARS: Final = 4_000_000
"""Size of a rendered prompt, and of any text on the way to it. A 100 kB message stands in one a few
times, with ten of context."""

MOST_TAGS: Final = 10_000
"""`{{` and `{%` in all templates together: reading so many takes a second. What ships has 300."""

MAX_REASON: Final = 300
"""Characters of what is wrong: it can quote a text of the template, which may be long."""

MOST_ITEMS: Final = 100_000
"""Items of a list, of those within it too."""

MOST_INDENT: Final = 100
MOST_DIGITS: Final = 15
"""What `indent` and `round` accept."""

MAX_NUMBER: Final = 2**53
"""Whole numbers beyond it are not exact in JSON."""

FILTERS: Final = (
    *("capitalize", "count", "d", "default", "dictsort", "first", "groupby", "indent", "int"),
    *("items", "join", "last", "length", "list", "lower", "map", "max", "min", "reject"),
    *("rejectattr", "replace", "reverse", "round", "select", "selectattr", "sort", "string"),
    *("sum", "title", "trim", "truncate", "unique", "upper", "wordcount"),
)
"""What a prompt needs, besides `tojson`; the rest of Jinja's filters is for HTML."""

METHODS: Final[tuple[tuple[type | tuple[type, ...], str], ...]] = (
    (
        str,
        "capitalize endswith islower isupper lower lstrip removeprefix removesuffix replace rstrip"
        " split splitlines startswith strip title upper",
    ),
    (dict, "get items keys values"),
    (tuple, "count grouper index list"),
    (list, "count index"),
    ((bool, int, float, bytes, range), ""),
)
"""Methods that values have in templates: others can make a text or number of any size."""

_RENDER_FAULTS: Final = (
    *(TemplateError, ArithmeticError, AssertionError, AttributeError, LookupError, MemoryError),
    *(RuntimeError, SyntaxError, TypeError, ValueError),
)
"""What a template can raise: its expressions, and Python where it compiles one that is too deep."""

_INCLUDES: Final = (nodes.Include, nodes.Import, nodes.FromImport, nodes.Extends)


@dataclass(frozen=True, slots=True)
class TemplateSource:
    """The text of a template, the file it is in, and the line of the file it begins on.

    ``trusted`` ones ship: their tests render them, so that they are not compiled to be checked.
    """

    text: str
    path: str
    first_line: int = 1
    trusted: bool = False

    def where(self, line: int) -> str:
        """``path:line`` of a line of the template."""
        return f"{self.path}:{self.first_line + line - 1}"

    def problem(self, message: str, hint: str, line: int = 1) -> Problem:
        """A Problem at a line of the template."""
        return Problem(self.where(line), message, hint)


@dataclass(frozen=True, slots=True)
class _Facts:
    """What the text of one template shows by itself. Lines are those of its file.

    ``wanted`` are the variables it does not set, with where they are first used; ``own`` those
    it does; ``references`` the templates it names, None for a computed name.
    """

    faults: tuple[Problem, ...] = ()
    wanted: Mapping[str, str] = field(default_factory=dict)
    own: frozenset[str] = frozenset()
    references: tuple[tuple[str, str | None], ...] = ()


class TemplateSet:
    """All templates of a library, by name ("shared/_context.md"). Each compiles once."""

    def __init__(self, sources: Mapping[str, TemplateSource]) -> None:
        self._sources = dict(sources)
        self._by_path = {source.path: source for source in self._sources.values()}
        self._environment = _sandbox(self._load)
        self._facts: dict[str, _Facts] = {}
        tags = 0
        for name, source in self._sources.items():
            tags += source.text.count("{{") + source.text.count("{%")
            if tags <= MOST_TAGS:
                self._facts[name] = _facts(source, self._environment)
            else:
                message = f"there are more than {MOST_TAGS:,} template tags in all prompts together"
                hint = "write fewer {{ ... }} and {% ... %}, or move prompts away"
                self._facts[name] = _Facts((source.problem(message, hint),))

    def problems(self, name: str) -> tuple[Problem, ...]:
        """What is wrong with one template by itself; its partials are asked on their own."""
        facts = self._facts[name]
        found = [self._reference_problem(name, *reference) for reference in facts.references]
        return (*facts.faults, *(problem for problem in found if problem is not None))

    def is_sound(self, name: str) -> bool:
        """Whether neither the template nor any of its partials has a problem."""
        return not any(self.problems(each) for each in self._reachable(name, set()))

    def variables(self, name: str, given: frozenset[str] = frozenset()) -> dict[str, str]:
        """What a sound template and its partials want, with where each is first used.

        ``given`` are the variables that the templates around it set.
        """
        facts = self._facts[name]
        found = {one: where for one, where in facts.wanted.items() if one not in given}
        for _, target in facts.references:
            found = self.variables(target or "", given | facts.own) | found
        return found

    def render(self, name: str, values: Mapping[str, object]) -> str:
        """Fill in a template. Raises DispatchError when it cannot be rendered.

        Newlines at both ends are dropped.
        """
        token = _DEADLINE.set(time.monotonic() + LIMIT_S)
        try:
            template = self._environment.get_template(name)
            return _joined(template.generate(values)).strip("\n")
        except _RENDER_FAULTS as error:
            where = self._where(error) or self._sources[name].where(1)
            reason = str(error)[:MAX_REASON] or type(error).__name__
            hint = "correct the template at this line"
            if isinstance(error, SecurityError):
                hint = "remove it: templates run in a sandbox"
            message = f"the prompt cannot be rendered: {reason}"
            raise DispatchError(message, where=where, hint=hint) from error
        finally:
            _DEADLINE.reset(token)

    def _load(self, name: str) -> tuple[str, str, Callable[[], bool]] | None:
        source = self._sources.get(name)
        return (source.text, source.path, lambda: True) if source else None

    def _reference_problem(self, name: str, where: str, target: str | None) -> Problem | None:
        if target is None:
            hint = 'write its name in quotes, such as "shared/_context.md"'
            return Problem(where, "includes a template by a computed name", hint)
        if target not in self._sources:
            near = nearest(target, self._sources)
            hint = f"did you mean '{near}'?" if near else "use a name such as shared/_context.md"
            return Problem(where, f"includes '{target}', which is not among the prompts", hint)
        if name in self._reachable(target, set()):
            return Problem(where, f"includes itself through '{target}'", "remove the include")
        return None

    def _reachable(self, name: str | None, seen: set[str]) -> set[str]:
        if name is not None and name in self._facts and name not in seen:
            seen.add(name)
            for _, target in self._facts[name].references:
                self._reachable(target, seen)
        return seen

    def _where(self, error: BaseException) -> str | None:
        """The innermost line of a template in the traceback (Jinja puts them there)."""
        frames = ((frame.f_code.co_filename, at) for frame, at in walk_tb(error.__traceback__))
        lines = [self._by_path[path].where(at) for path, at in frames if path in self._by_path]
        return lines[-1] if lines else None


def _facts(source: TemplateSource, environment: Environment) -> _Facts:
    try:
        tree = environment.parse(source.text)
        names = list(tree.find_all(nodes.Name))
        wanted = meta.find_undeclared_variables(tree) - set(environment.globals)
        references = [(source.where(one.lineno), _target(one)) for one in tree.find_all(_INCLUDES)]
        faults = [
            source.problem(
                f"uses '{name}', which templates must not",
                "remove it; use the declared inputs",
                node.lineno,
            )
            for node in tree.find_all((nodes.Getattr, nodes.Getitem))
            if (name := _attribute(node)).startswith("_")
        ]
        if not source.trusted:
            environment.compile(tree, raw=True)  # finds unknown filters and tests; spoils the tree
    except TemplateSyntaxError as error:
        message = f"is not a Jinja template: {error.message}"
        return _Facts((source.problem(message, "correct it here", error.lineno),))
    except RecursionError:
        return _Facts((source.problem("is nested too deeply", "flatten the template"),))
    except ValueError as error:  # a number of thousands of digits
        return _Facts((source.problem(f"is not a Jinja template: {error}", "correct it"),))
    first_use = {node.name: source.where(node.lineno) for node in reversed(names)}
    return _Facts(
        tuple(faults),
        {name: first_use.get(name, source.where(1)) for name in sorted(wanted)},
        frozenset(node.name for node in names if node.ctx != "load") - wanted,
        tuple(references),
    )


def _target(node: nodes.Node) -> str | None:
    """The name that an include gives, or None when it is computed."""
    template = getattr(node, "template", None)
    value = template.value if isinstance(template, nodes.Const) else None
    return value if isinstance(value, str) else None


def _attribute(node: nodes.Node) -> str:
    """The attribute or key that an expression names; "" when it is computed."""
    name = getattr(node, "attr", None)
    if isinstance(node, nodes.Getitem) and isinstance(node.arg, nodes.Const):
        name = node.arg.value
    return name if isinstance(name, str) else ""


# The sandbox

_DEADLINE: Final[ContextVar[float]] = ContextVar("kds_rendering")
_ROUNDS: Final = " rounds"
_JOINED: Final = " joined"
"""Filters that are put into each template; no template can write their names."""


class _Guards(NodeTransformer):
    """Sends loops and `~` through filters that look at the time and the size."""

    def visit_For(self, node: nodes.For) -> nodes.Node:  # noqa: N802  # Jinja finds it by name
        self.generic_visit(node)
        node.iter = _through(_ROUNDS, node.iter)
        return node

    def visit_Concat(self, node: nodes.Concat) -> nodes.Node:  # noqa: N802  # Jinja finds it by name
        self.generic_visit(node)
        return _through(_JOINED, node.nodes[0], node.nodes[1:])

    def visit_ScopedEvalContextModifier(self, node: nodes.Node) -> nodes.Node:  # noqa: N802  # by name
        raise TemplateSyntaxError("'autoescape' is for HTML", node.lineno)


def _through(name: str, value: Any, more: list[nodes.Expr] | None = None) -> nodes.Filter:
    return nodes.Filter(
        value, name, more or [], [], None, None, lineno=value.lineno, environment=value.environment
    )


class _Sandbox(ImmutableSandboxedEnvironment):
    """Jinja's sandbox, with a time limit."""

    intercepted_binops = frozenset({"+", "-", "*", "/", "//", "%", "**"})

    def _generate(self, source: nodes.Template, *args: Any, **kwargs: Any) -> str:
        return super()._generate(_Guards().visit(source), *args, **kwargs)

    def concat(self, chunks: Iterable[str]) -> str:
        """The text of a macro or block."""
        return _joined(chunks)

    def get_template(self, *args: Any, **kwargs: Any) -> Any:
        """Includes can multiply."""
        _look_at_the_clock()
        return super().get_template(*args, **kwargs)

    def call(self, context: Context, obj: Any, /, *args: Any, **kwargs: Any) -> Any:
        """Calls can multiply."""
        _look_at_the_clock()
        owner = getattr(obj, "__self__", None)
        if isinstance(owner, str) and obj.__name__ == "replace":
            return _replace(owner, *args)
        return super().call(context, obj, *args, **kwargs)

    def call_binop(self, context: Any, operator_: str, left: Any, right: Any) -> Any:
        """Numbers, and texts and lists with `+`."""
        joins = operator_ == "+" and isinstance(left, str | list | tuple)
        if operator_ == "**":
            raise SecurityError("'**' is not accepted")
        if not joins and not all(isinstance(one, int | float | Undefined) for one in (left, right)):
            raise SecurityError(f"'{operator_}' is only for numbers")
        return _checked(self.binop_table[operator_](left, right))

    def wrap_str_format(self, value: Any) -> None:
        """Give `format` no way around `is_safe_attribute`."""

    def is_safe_attribute(self, obj: Any, attr: str, value: Any) -> bool:
        """Only what METHODS list, of values that have a row there."""
        for kind, allowed in METHODS:
            if isinstance(obj, kind):
                return attr in allowed.split()
        return super().is_safe_attribute(obj, attr, value)


def _sandbox(load: Callable[[str], Any]) -> Environment:
    environment = _Sandbox(
        loader=FunctionLoader(load),
        undefined=StrictUndefined,
        autoescape=False,
        trim_blocks=True,
        lstrip_blocks=True,
        auto_reload=False,
        cache_size=-1,
        optimized=False,  # nothing of a template runs while it is compiled
        finalize=_checked,
    )
    own: dict[str, Callable[..., Any]] = {
        **{name: environment.filters[name] for name in FILTERS},
        "tojson": _as_json, "replace": _replace, "round": _round, "indent": _indent,
    }  # fmt: skip
    environment.filters = {name: _timed(each) for name, each in own.items()}
    environment.filters |= {_ROUNDS: _rounds, _JOINED: lambda *texts: _joined(map(str, texts))}
    del environment.tests["divisibleby"]  # `%` would format a text
    environment.globals = {"range": _range, "namespace": environment.globals["namespace"]}
    return environment


def _rounds(items: Iterable[Any]) -> Iterator[Any]:
    """What a loop goes through; each round looks at the clock."""
    for item in items:
        _look_at_the_clock()
        yield item


def _timed(wrapped: Callable[..., Any]) -> Callable[..., Any]:
    """A filter that looks at the clock, and at what it is given and makes."""

    @pass_context
    def timed(context: Context, value: Any = None, *args: Any, **kwargs: Any) -> Any:
        _look_at_the_clock()
        _checked([value, *args, *kwargs.values()])
        made = context.call(wrapped, value, *args, **kwargs)
        return _checked(list(made) if isinstance(made, Iterator) else made)

    return timed


def _look_at_the_clock() -> None:
    if time.monotonic() > _DEADLINE.get():
        raise SecurityError(f"it takes longer than {LIMIT_S:g} s")


def _checked(value: Any) -> Any:
    """``value``, when neither it nor what is in it is too large."""
    left, queue = MOST_ITEMS, [value]
    while queue:
        one = queue.pop()
        if isinstance(one, str | bytes) and len(one) > MAX_OUTPUT_CHARS:
            raise SecurityError(f"a text is longer than {MAX_OUTPUT_CHARS} characters")
        if isinstance(one, int) and abs(one) > MAX_NUMBER:
            raise SecurityError(f"a number is larger than {MAX_NUMBER}")
        inner = [*one.keys(), *one.values()] if isinstance(one, Mapping) else one
        if isinstance(inner, list | tuple | set | frozenset):
            left -= len(inner)
            if left < 0:
                raise SecurityError(f"a list has more than {MOST_ITEMS} items")
            queue.extend(inner)
    return value


def _joined(chunks: Iterable[str]) -> str:
    parts, size = [], 0
    for chunk in chunks:
        size += len(chunk)
        if size > MAX_OUTPUT_CHARS:
            raise SecurityError(f"it is longer than {MAX_OUTPUT_CHARS} characters")
        parts.append(chunk)
    return "".join(parts)


def _replace(text: object, old: str, new: str, count: int | None = None) -> str:
    """As Jinja's and Python's, when the result is not too long."""
    text, old, new = str(text), str(old), str(new)
    most = -1 if count is None else count
    times = text.count(old) if most < 0 else min(text.count(old), most)
    if len(text) + times * len(new) > MAX_OUTPUT_CHARS:
        raise SecurityError(f"a text is longer than {MAX_OUTPUT_CHARS} characters")
    return text.replace(old, new, most)


def _indent(text: str, width: int = 4, first: bool = False, blank: bool = False) -> str:
    if not 0 <= width <= MOST_INDENT:
        raise SecurityError(f"'indent' takes at most {MOST_INDENT} characters")
    return do_indent(text, width, first, blank)


def _round(value: Any, precision: int = 0, method: Any = "common") -> float:
    if not isinstance(value, int | float) or abs(precision) > MOST_DIGITS:
        raise SecurityError(f"'round' takes a number, and at most {MOST_DIGITS} digits")
    return do_round(value, precision, method)


def _as_json(value: object, indent: int | None = None) -> str:
    if indent not in (None, 2):
        raise SecurityError("'tojson' takes indent=2 or none")
    return json.dumps(value, ensure_ascii=False, indent=indent)


def _range(*bounds: int) -> range:
    items = range(*bounds)
    if len(items) > MOST_ITEMS:
        raise SecurityError(f"loops over more than {MOST_ITEMS} numbers")
    return items
