"""Jinja templates in a sandbox: what a prompt file may say, and how it is rendered.

Templates come from the texts given here and from nowhere else: no path is ever opened, so includes
cannot leave the prompt folders. Text of the user enters only as variables and is never read as a
template. Prompt files of a workspace may come with a cloned repository: they show values and do
not compute (`STATEMENTS`), Jinja's sandbox keeps them from private attributes, and a rendering has
two seconds and a limited size.
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
    pass_environment,
)
from jinja2.exceptions import SecurityError
from jinja2.filters import do_sort
from jinja2.sandbox import ImmutableSandboxedEnvironment
from jinja2.visitor import NodeTransformer

from kds.brain.errors import DispatchError, Problem
from kds.brain.yaml_files import did_you_mean

LIMIT_S: Final = 2.0
"""Seconds that one rendering may take. The packaged prompts take milliseconds."""

MAX_OUTPUT_CHARS: Final = 4_000_000
"""Characters of a rendered prompt and of all texts made on the way to it. A 100 kB message stands
in one a few times, with ten of context."""

MOST_TAGS: Final = 10_000
"""`{{` and `{%` in all templates together: reading so many takes a second. What ships has 300."""

_TOO_MANY_TAGS: Final = (
    f"there are more than {MOST_TAGS:,} template tags in all prompts together",
    "write fewer {{ ... }} and {% ... %}, or move prompts away",
)

MAX_REASON: Final = 300
"""Characters of what is wrong: it can quote a text of the template, which may be long."""

STATEMENTS: Final = "if, for, set NAME = ..., include"
_ALLOWED: Final = frozenset(
    "Template Output TemplateData Name Const If For Include Assign CondExpr Filter Keyword Test"
    " Getattr Getitem Slice Compare Operand And Or Not Neg List Tuple".split()
)

FILTERS: Final = (
    *("capitalize", "count", "d", "default", "first", "int", "last", "length", "lower"),
    *("map", "max", "min", "reject", "rejectattr", "reverse", "select", "selectattr"),
    *("string", "title", "trim", "truncate", "unique", "upper", "wordcount"),
)
"""What a prompt needs of Jinja's filters, besides those with limits of their own (`_sandbox`); the
others are for HTML, or make texts of any size."""

_RENDER_FAULTS: Final = (
    *(TemplateError, ArithmeticError, AssertionError, AttributeError, LookupError, MemoryError),
    *(RuntimeError, SyntaxError, TypeError, ValueError),
)
"""What a template can raise: its expressions, and Python where it compiles one that is too deep."""


@dataclass(frozen=True, slots=True)
class TemplateSource:
    """The text of a template, the file it is in, and the line of the file it begins on.

    ``trusted`` ones ship: their tests render them, so that they are not checked.
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
        """Fill in a template that has no problem. Raises DispatchError when that fails.

        Newlines at both ends are dropped.
        """
        token = _ALLOWANCE.set([time.monotonic() + LIMIT_S, MAX_OUTPUT_CHARS])
        try:
            parts = self._environment.get_template(name).generate(values)
            return "".join(map(_spent, parts)).strip("\n")
        except _RENDER_FAULTS as error:
            reason = str(error)[:MAX_REASON] or type(error).__name__
            where = self._where(error) or self._sources[name].where()
            message = f"the prompt cannot be rendered: {reason}"
            hint = "correct the template at this line"
            raise DispatchError(message, where=where, hint=hint) from error
        finally:
            _ALLOWANCE.reset(token)

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
        wanted = meta.find_undeclared_variables(tree)
        includes = [(_text_of(one, "template"), one.lineno) for one in tree.find_all(nodes.Include)]
        wrong = [] if source.trusted else list(_wrong(tree))
        if not (source.trusted or wrong):
            environment.compile(tree, raw=True)  # finds unknown filters and tests; spoils the tree
    except TemplateSyntaxError as error:
        message = f"is not a Jinja template: {error.message}"
        return _Facts((source.problem(message, "correct it here", error.lineno),))
    except RecursionError:
        return _Facts((source.problem("is nested too deeply", "flatten the template"),))
    except ValueError as error:  # a number of thousands of digits
        return _Facts((source.problem(f"is not a Jinja template: {error}", "correct it"),))
    hint = f"remove it; there are {{{{ values and filters }}}}, and {STATEMENTS}"
    problems = [
        source.problem(f"uses '{what}', which templates must not", hint, line)
        for what, line in wrong
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


def _wrong(tree: nodes.Template) -> Iterator[tuple[str, int]]:
    """What a template of a workspace must not use, with its line: what computes, or is private."""
    for node in tree.find_all(nodes.Node):
        kind = type(node).__name__
        private = getattr(node, "attr", None) or _text_of(node, "arg")
        grown = isinstance(node, nodes.List | nodes.Tuple) and not all(
            isinstance(one, nodes.Const) or getattr(one, "ctx", "") == "store" for one in node.items
        )
        if private.startswith("_"):
            yield private, node.lineno
        elif kind not in _ALLOWED or grown or getattr(node, "recursive", False):
            yield getattr(node, "operator", None) or kind.lower(), node.lineno


def _text_of(node: nodes.Node, field: str) -> str:
    """The text that stands in a field of a node, or "" when it is computed."""
    found = getattr(node, field, None)
    value = found.value if isinstance(found, nodes.Const) else ""
    return value if isinstance(value, str) else ""


# The sandbox

_ALLOWANCE: Final[ContextVar[list[float]]] = ContextVar("kds_rendering")
"""When a rendering ends at the latest, and the characters that it may still make."""
_ROUNDS: Final = " rounds"
"""A filter that is put around what loops go through; no template can write its name."""


def _spend(chars: float = 0) -> None:
    allowance = _ALLOWANCE.get()
    allowance[1] -= chars
    if allowance[1] < 0:
        raise SecurityError(f"it is longer than {MAX_OUTPUT_CHARS} characters")
    if time.monotonic() > allowance[0]:
        raise SecurityError(f"it takes longer than {LIMIT_S:g} s")


def _spent(text: str) -> str:
    _spend(len(text))
    return text


class _Rounds(NodeTransformer):
    """Lets each round of a loop look at the clock."""

    def visit_For(self, node: nodes.For) -> nodes.Node:  # noqa: N802  # Jinja finds it by name
        self.generic_visit(node)
        at = {"lineno": node.lineno, "environment": node.environment}
        node.iter = nodes.Filter(node.iter, _ROUNDS, [], [], None, None, **at)
        return node


class _Sandbox(ImmutableSandboxedEnvironment):
    """Jinja's sandbox, with a time limit."""

    def _generate(self, source: nodes.Template, *args: Any, **kwargs: Any) -> str:
        return super()._generate(_Rounds().visit(source), *args, **kwargs)

    def get_template(self, *args: Any, **kwargs: Any) -> Any:
        """Includes can multiply."""
        _spend()
        return super().get_template(*args, **kwargs)

    def is_safe_attribute(self, obj: Any, attr: str, value: Any) -> bool:
        """Methods are not values: nothing calls them, and their text is an address in memory."""
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
    )
    environment.filters = {name: environment.filters[name] for name in FILTERS} | {
        "indent": lambda text, width=4: _replace(text, "\n", "\n" + " " * min(width, 100)),
        "join": _join,
        "list": _listed,
        "replace": _replace,
        "round": lambda number, digits=0: round(float(number), max(digits, 0)),
        "tojson": lambda value, indent=None: _spent(
            json.dumps(value, ensure_ascii=False, indent=indent and 2)
        ),
        "sort": pass_environment(
            lambda environment, items, *args, **how: do_sort(
                environment, _listed(items), *args, **how
            )
        ),
        _ROUNDS: _rounds,
    }
    environment.tests |= {  # Jinja's own take the remainder with `%`, which formats a text
        "divisibleby": lambda number, by: int(number) % int(by) == 0,
        "even": lambda number: int(number) % 2 == 0,
        "odd": lambda number: int(number) % 2 == 1,
    }
    environment.globals = {}
    return environment


def _rounds(items: Iterable[Any]) -> Iterator[Any]:
    for item in items:
        _spend()
        yield item


def _listed(items: Iterable[Any]) -> list[Any]:
    """Spent, too: a list of characters is five times as long as a text, and a text again."""
    made = [*_rounds(items)]
    _spend(len(made))
    return made


def _join(items: Iterable[object], between: object = "") -> str:
    texts = [*map(str, items)]
    _spend(sum(map(len, texts)) + len(str(between)) * len(texts))
    return str(between).join(texts)


def _replace(text: object, old: object, new: object) -> str:
    text, old, new = str(text), str(old), str(new)
    _spend(len(text) + text.count(old) * len(new))
    return text.replace(old, new)
