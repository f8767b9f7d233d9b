"""Jinja templates in a sandbox: what a prompt file may say, and how it is rendered (DESIGN 7).

Templates come from the texts given here and from nowhere else: no path is ever opened, so
includes cannot leave the prompt folders. Text of the user enters only as variables and is
never read as a template.
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from traceback import walk_tb
from typing import Final

from jinja2 import Environment, TemplateError, TemplateSyntaxError, meta, nodes
from jinja2.exceptions import SecurityError

from kds.brain.errors import DispatchError, Problem
from kds.brain.yaml_files import nearest
from kds.router.prompts.budget import Rendering
from kds.router.prompts.sandbox import sandbox

MAX_OUTPUT_CHARS: Final = 4_000_000
"""Size of a rendered prompt. A 100 kB message stands in one a few times, with ten of context."""

_RENDER_FAULTS: Final = (
    TemplateError,
    ArithmeticError,
    AssertionError,
    AttributeError,
    LookupError,
    MemoryError,
    RuntimeError,
    SyntaxError,
    TypeError,
    ValueError,
)
"""What a template can raise: its expressions, and Python where it compiles one that is too deep."""

MOST_TAGS: Final = 10_000
"""`{{` and `{%` in all templates together: reading so many takes a second. What ships has 300."""

MAX_REASON: Final = 300
"""Characters of what is wrong: it can quote a text of the template, which may be long."""


_ACCESSES: Final = (nodes.Getattr, nodes.Getitem)


@dataclass(frozen=True, slots=True)
class TemplateSource:
    """The text of a template, the file it is in, and the line of the file it begins on."""

    text: str
    path: str
    first_line: int = 1

    def where(self, line: int) -> str:
        """``path:line`` of a line of the template."""
        return f"{self.path}:{self.first_line + line - 1}"


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
        self._environment = sandbox(self._load)
        self._facts = dict(self._read_all())

    def _read_all(self) -> Iterator[tuple[str, _Facts]]:
        tags = 0
        for name, source in self._sources.items():
            tags += source.text.count("{{") + source.text.count("{%")
            if tags > MOST_TAGS:
                message = f"there are more than {MOST_TAGS:,} template tags in all prompts together"
                hint = "write fewer {{ ... }} and {% ... %}, or move prompts away"
                yield name, _Facts(faults=(Problem(source.where(1), message, hint),))
            else:
                yield name, _facts(source, self._environment)

    def problems(self, name: str) -> tuple[Problem, ...]:
        """What is wrong with one template by itself; its partials are asked on their own."""
        facts = self._facts[name]
        found = [self._reference_problem(name, *reference) for reference in facts.references]
        return (*facts.faults, *(problem for problem in found if problem is not None))

    def is_sound(self, name: str) -> bool:
        """Whether neither the template nor any of its partials has a problem."""
        return not any(self.problems(each) for each in self._reachable(name, set()))

    def variables(self, name: str) -> Mapping[str, str]:
        """The variables a sound template and its partials want, with where each is first used."""
        found: dict[str, str] = {}
        self._collect(name, frozenset(), found)
        return found

    def render(self, name: str, values: Mapping[str, object]) -> str:
        """Fill in a template. Raises DispatchError when it cannot be rendered.

        Newlines at both ends are dropped.
        """
        source = self._sources[name]
        try:
            with Rendering():
                template = self._environment.get_template(name)
                return _joined(template.generate(values)).strip("\n")
        except _RENDER_FAULTS as error:
            where = self._where(error) or source.where(1)
            reason = str(error)[:MAX_REASON] or type(error).__name__
            message = f"the prompt cannot be rendered: {reason}"
            raise DispatchError(message, where=where, hint=_hint(error)) from error

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

    def _collect(self, name: str, given: frozenset[str], found: dict[str, str]) -> None:
        """Add what ``name`` wants and is not ``given`` by the templates that include it."""
        facts = self._facts[name]
        for variable, where in facts.wanted.items():
            if variable not in given:
                found.setdefault(variable, where)
        for _, target in facts.references:
            self._collect(target or "", given | facts.own, found)

    def _where(self, error: BaseException) -> str | None:
        """The innermost line of a template in the traceback (Jinja puts them there)."""
        lines = [
            self._by_path[frame.f_code.co_filename].where(line)
            for frame, line in walk_tb(error.__traceback__)
            if frame.f_code.co_filename in self._by_path
        ]
        return lines[-1] if lines else None


def _facts(source: TemplateSource, environment: Environment) -> _Facts:
    try:
        tree = environment.parse(source.text)
        names = list(tree.find_all(nodes.Name))
        wanted = meta.find_undeclared_variables(tree) - set(environment.globals)
        references = [(source.where(node.lineno), _target(node)) for node in _references(tree)]
        faults = [_private_problem(source, node) for node in tree.find_all(_ACCESSES)]
        environment.compile(tree, raw=True)  # finds unknown filters and tests; spoils the tree
    except TemplateSyntaxError as error:
        message = f"is not a Jinja template: {error.message}"
        return _Facts((Problem(source.where(error.lineno), message, "correct it here"),))
    except RecursionError:
        return _Facts((Problem(source.where(1), "is nested too deeply", "flatten the template"),))
    except ValueError as error:  # a number of thousands of digits
        return _Facts(
            (Problem(source.where(1), f"is not a Jinja template: {error}", "correct it"),)
        )
    first_use = {node.name: source.where(node.lineno) for node in reversed(names)}
    return _Facts(
        faults=tuple(fault for fault in faults if fault is not None),
        wanted={name: first_use.get(name, source.where(1)) for name in sorted(wanted)},
        own=frozenset(node.name for node in names if node.ctx != "load") - wanted,
        references=tuple(references),
    )


def _references(tree: nodes.Template) -> Iterator[nodes.Node]:
    return tree.find_all((nodes.Include, nodes.Import, nodes.FromImport, nodes.Extends))


def _target(node: nodes.Node) -> str | None:
    """The name that an include gives, or None when it is computed."""
    template = getattr(node, "template", None)
    value = template.value if isinstance(template, nodes.Const) else None
    return value if isinstance(value, str) else None


def _private_problem(source: TemplateSource, node: nodes.Node) -> Problem | None:
    name: object = getattr(node, "attr", None)
    if isinstance(node, nodes.Getitem) and isinstance(node.arg, nodes.Const):
        name = node.arg.value
    if not isinstance(name, str) or not name.startswith("_"):
        return None
    message = f"uses '{name}', which templates must not"
    return Problem(source.where(node.lineno), message, "remove it; use the declared inputs")


def _joined(chunks: Iterator[str]) -> str:
    parts, size = [], 0
    for chunk in chunks:
        size += len(chunk)
        if size > MAX_OUTPUT_CHARS:
            raise SecurityError(f"it is longer than {MAX_OUTPUT_CHARS} characters")
        parts.append(chunk)
    return "".join(parts)


def _hint(error: BaseException) -> str:
    if isinstance(error, SecurityError):
        return "remove it: templates run in a sandbox"
    return "correct the template at this line"
