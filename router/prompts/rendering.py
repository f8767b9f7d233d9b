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
    meta,
    nodes,
    pass_context,
)
from jinja2.exceptions import SecurityError
from jinja2.runtime import Context
from jinja2.sandbox import ImmutableSandboxedEnvironment
from jinja2.visitor import NodeTransformer

from kds.brain.errors import DispatchError, Problem
from kds.brain.yaml_files import did_you_mean

LIMIT_S: Final = 2.0
"""Seconds that one rendering may take. The packaged prompts take milliseconds."""

MAX_OUTPUT_CHARS: Final = 4_000_000
"""Size of a rendered prompt, and of any text on the way to it. A 100 kB message stands in one a few
times, with ten of context."""

MOST_TAGS: Final = 10_000
"""`{{` and `{%` in all templates together: reading so many takes a second. What ships has 300."""

_TOO_MANY_TAGS: Final = (
    f"there are more than {MOST_TAGS:,} template tags in all prompts together",
    "write fewer {{ ... }} and {% ... %}, or move prompts away",
)

MAX_REASON: Final = 300
"""Characters of what is wrong: it can quote a text of the template, which may be long."""

MOST_ITEMS: Final = 100_000
"""Items of a list, of those within it too."""

MOST_INDENT: Final = 100

MAX_NUMBER: Final = 2**53
"""Whole numbers beyond it are not exact in JSON."""

FILTERS: Final = (
    *("capitalize", "count", "d", "default", "dictsort", "first", "groupby", "int", "items"),
    *("join", "last", "length", "list", "lower", "map", "max", "min", "reject", "rejectattr"),
    *("reverse", "select", "selectattr", "sort", "string", "sum", "title", "trim", "truncate"),
    *("unique", "upper", "wordcount"),
)
"""What a prompt needs of Jinja's filters, besides `tojson`, `replace`, `round` and `indent`, which
have limits of their own; the others are for HTML."""

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

    def problem(self, message: str, hint: str, line: int = 1) -> Problem:
        """A Problem at a line of the template."""
        return Problem(self.where(line), message, hint)

    def where(self, line: int = 1) -> str:
        """``path:line`` of a line of the template."""
        return f"{self.path}:{self.first_line + line - 1}"


@dataclass(frozen=True, slots=True)
class _Facts:
    """What the text of one template shows by itself.

    ``wanted`` are the variables it does not set, with where they are first used; ``own`` those
    it does; ``includes`` the templates it names.
    """

    problems: tuple[Problem, ...] = ()
    wanted: Mapping[str, str] = field(default_factory=dict)
    own: frozenset[str] = frozenset()
    includes: frozenset[str] = frozenset()


class TemplateSet:
    """All templates of a library, by name ("shared/_context.md"). Each compiles once."""

    def __init__(self, sources: Mapping[str, TemplateSource]) -> None:
        self._sources = dict(sources)
        self._environment = _sandbox(self._load)
        self._facts: dict[str, _Facts] = {}
        tags = 0
        for name, source in self._sources.items():
            tags += source.text.count("{{") + source.text.count("{%")
            self._facts[name] = (
                _facts(source, self._environment, self._sources)
                if tags <= MOST_TAGS
                else _Facts((source.problem(*_TOO_MANY_TAGS),))
            )

    def problems(self) -> tuple[Problem, ...]:
        """What is wrong with the templates."""
        return tuple(problem for facts in self._facts.values() for problem in facts.problems)

    def variables(self, name: str) -> dict[str, str] | None:
        """What a template and its partials want, with where each is first used.

        None when one of them has a problem.
        """
        seen, queue = dict[str, _Facts](), [name]
        while queue:
            if (one := queue.pop()) not in seen:
                seen[one] = self._facts[one]
                queue += sorted(self._facts[one].includes)
        if any(facts.problems for facts in seen.values()):
            return None
        own = frozenset[str]().union(*(facts.own for facts in seen.values()))
        wanted = [pair for facts in reversed(seen.values()) for pair in facts.wanted.items()]
        return {one: where for one, where in wanted if one not in own}

    def render(self, name: str, values: Mapping[str, object]) -> str:
        """Fill in a template. Raises DispatchError when it cannot be rendered.

        Newlines at both ends are dropped.
        """
        token = _DEADLINE.set(time.monotonic() + LIMIT_S)
        try:
            template = self._environment.get_template(name)
            return _joined(template.generate(values)).strip("\n")
        except _RENDER_FAULTS as error:
            reason = str(error)[:MAX_REASON] or type(error).__name__
            hint = "correct the template at this line"
            if isinstance(error, SecurityError):
                hint = "remove it: templates run in a sandbox, with filters in place of methods"
            where = self._where(error) or self._sources[name].where()
            message = f"the prompt cannot be rendered: {reason}"
            raise DispatchError(message, where=where, hint=hint) from error
        finally:
            _DEADLINE.reset(token)

    def _load(self, name: str) -> tuple[str, str, Callable[[], bool]] | None:
        source = self._sources.get(name)
        return (source.text, source.path, lambda: True) if source else None

    def _where(self, error: BaseException) -> str | None:
        """The innermost line of a template in the traceback (Jinja puts them there)."""
        by_path = {source.path: source for source in self._sources.values()}
        frames = ((frame.f_code.co_filename, at) for frame, at in walk_tb(error.__traceback__))
        lines = [by_path[path].where(at) for path, at in frames if path in by_path]
        return lines[-1] if lines else None


def _facts(source: TemplateSource, environment: Environment, known: Mapping[str, object]) -> _Facts:
    try:
        tree = environment.parse(source.text)
        names = list(tree.find_all(nodes.Name))
        wanted = meta.find_undeclared_variables(tree) - set(environment.globals)
        includes = [(_text_of(one, "template"), one.lineno) for one in tree.find_all(_INCLUDES)]
        private = [
            (name, node.lineno)
            for node in tree.find_all((nodes.Getattr, nodes.Getitem))
            if (name := getattr(node, "attr", None) or _text_of(node, "arg")).startswith("_")
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
    problems = [
        source.problem(
            f"uses '{name}', which templates must not", "remove it; use the declared inputs", line
        )
        for name, line in private
    ]
    for name, line in includes:
        if name not in known:
            message = f"includes '{name}', which is not among the prompts"
            hint = did_you_mean(name, known, 'write its name in quotes: "shared/_context.md"')
            problems.append(source.problem(message, hint, line))
    first_use = {node.name: source.where(node.lineno) for node in reversed(names)}
    return _Facts(
        tuple(problems),
        {name: first_use.get(name, source.where()) for name in sorted(wanted)},
        frozenset(node.name for node in names if node.ctx != "load") - wanted,
        frozenset(name for name, _ in includes if name in known),
    )


def _text_of(node: nodes.Node, field: str) -> str:
    """The text that stands in a field of a node, or "" when it is computed."""
    found = getattr(node, field, None)
    value = found.value if isinstance(found, nodes.Const) else ""
    return value if isinstance(value, str) else ""


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


def _through(name: str, value: Any, more: list[nodes.Expr] | None = None) -> nodes.Filter:
    return nodes.Filter(
        value, name, more or [], [], None, None, lineno=value.lineno, environment=value.environment
    )


class _Sandbox(ImmutableSandboxedEnvironment):
    """Jinja's sandbox, with a time limit, and without methods: some make texts of any size."""

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
        return super().call(context, obj, *args, **kwargs)

    def call_binop(self, context: Any, operator_: str, left: Any, right: Any) -> Any:
        """Numbers, and texts and lists with `+`."""
        numbers = all(isinstance(one, int | float) for one in (left, right))
        if operator_ == "**" or not (numbers or operator_ == "+"):
            raise SecurityError(f"'{operator_}' is only for numbers")
        return _checked(super().call_binop(context, operator_, left, right))

    def wrap_str_format(self, value: Any) -> None:
        """Give `format` no way around `is_safe_attribute`."""

    def is_safe_attribute(self, obj: Any, attr: str, value: Any) -> bool:
        """What is not to be called, and not private."""
        return not callable(value) and super().is_safe_attribute(obj, attr, value)


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
    filters: dict[str, Callable[..., Any]] = {
        **{name: environment.filters[name] for name in FILTERS},
        "indent": lambda text, width=4: _replace(text, "\n", "\n" + " " * min(width, MOST_INDENT)),
        "replace": _replace,
        "round": lambda number, digits=0: round(float(number), max(digits, 0)),
        "tojson": lambda value, indent=None: json.dumps(
            value, ensure_ascii=False, indent=indent and 2
        ),
    }
    environment.filters = {name: _timed(one) for name, one in filters.items()}
    environment.filters |= {_ROUNDS: _rounds, _JOINED: lambda *texts: _joined(map(str, texts))}
    del environment.tests["divisibleby"]  # `%` would format a text
    environment.globals = {name: environment.globals[name] for name in ("range", "namespace")}
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


def _replace(text: object, old: str, new: str) -> str:
    text, old, new = str(text), str(old), str(new)
    if len(text) + text.count(old) * len(new) > MAX_OUTPUT_CHARS:
        raise SecurityError(f"a text is longer than {MAX_OUTPUT_CHARS} characters")
    return text.replace(old, new)
