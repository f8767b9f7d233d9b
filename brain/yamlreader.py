"""Plain data from YAML text, with the line of every node.

Built from PyYAML's event stream rather than its loader: that keeps line numbers, sees repeated
keys and aliases, and does not recurse into deep nesting.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Final, Protocol

import yaml

from kds.brain.errors import Problem

MAX_DEPTH: Final = 40
"""Nesting above this is refused: real files stay below 8, and readers recurse."""

NodePath = tuple[str | int, ...]
"""The way to a node: ("patterns", 2, "regex") is the key `regex` of the third pattern."""

_INT: Final = "tag:yaml.org,2002:int"
LONGEST_NUMBER: Final = 100
"""Characters: Python refuses to write out numbers of more than 4,300 digits."""

_PLAIN_TAGS: Final = tuple(f"tag:yaml.org,2002:{name}" for name in ("str", "int", "float", "bool"))

# The C parser (libyaml) is about ten times faster; not every PyYAML has it. The pure one is a
# little stricter: no bare `?` between brackets, no tab between words.
_PARSER: Final = getattr(yaml, "CSafeLoader", yaml.SafeLoader)

# What no YAML text may hold. Looked for here, as the parsers count the place in different units
# (bytes, characters) and disagree on a byte order mark within the text.
_CONTROL: Final = re.compile(
    r"[^\t\n\r\x20-\x7e\x85\xa0-\ud7ff\ue000-\ufefe\uff00-\ufffd\U00010000-\U0010ffff]"
)

_HINTS: Final = (
    # Only the pure parser ends here, so it names the character.
    ("'?'", "put it in quotes: text with a '?' within [ ] or { }"),
    ("'\\t'", "replace the tab with spaces"),
)
"""What the pure parser's words hold where libyaml would read on, and the way out."""


class _Mark(Protocol):
    """A place in YAML text, as both of PyYAML's parsers give it."""

    @property
    def line(self) -> int: ...


@dataclass(slots=True)
class YamlReader:
    """Builds plain data from YAML events, without recursion, noting the line of every node.

    ``lines`` maps the way to a node to its line; ``problems`` collects what is wrong; ``last`` is
    the last line that holds something, counted from 0.
    """

    path: str
    first_line: int
    lines: dict[NodePath, int] = field(default_factory=dict)
    problems: list[Problem] = field(default_factory=list)
    last: int = 0

    def read(self, text: str) -> object:
        """The data of the one document in ``text``; None when it is empty or refused."""
        self.last = text.rstrip().count("\n")
        # A byte order mark is welcome at the very beginning.
        if control := _CONTROL.search(text, text.startswith("\ufeff")):
            line = text.count("\n", 0, control.start())
            message = "is not YAML: control characters are not allowed"
            hint = "remove the control character from this line"
            self._report(yaml.Mark("", 0, line, 0, None, 0), message, hint)
            return None
        try:
            return self._build(iter(yaml.parse(text, Loader=_PARSER)))
        except yaml.MarkedYAMLError as error:
            self._report(error.problem_mark, _words(error), _hint(error))
        except _RefusedError as refused:
            self._report(refused.mark, refused.message, refused.hint)
        return None

    def _build(self, events: Iterator[yaml.Event]) -> object:
        scalars = yaml.SafeLoader("")
        root: list[object] = []
        stack: list[_Frame] = [_Frame(root, (), is_root=True)]
        for event in events:
            if isinstance(event, yaml.DocumentStartEvent) and root:
                hint = "remove the line '---' between them"
                self._report(event.start_mark, "begins a second YAML document", hint)
                break
            if isinstance(event, yaml.CollectionEndEvent):
                stack.pop()
            elif isinstance(event, yaml.NodeEvent):
                if stack[-1].wants_key:
                    stack[-1].key = self._key(event, stack[-1])
                    continue
                here = stack[-1].place()
                self.lines.setdefault(here, self._line(event.start_mark))
                stack[-1].add(node := _value(event, scalars))
                if isinstance(node, dict | list):
                    stack.append(_Frame(node, here))
                if len(stack) > MAX_DEPTH:
                    raise _RefusedError(event.start_mark, "is nested too deeply", "flatten it")
        return root[0] if root else None

    def _key(self, event: yaml.Event, frame: "_Frame") -> str:
        if not isinstance(event, yaml.ScalarEvent):
            hint = "use a plain word as the key"
            raise _RefusedError(event.start_mark, "has a key that is not text", hint)
        name: str = event.value
        line = self._line(event.start_mark)
        at = (*frame.at, name)
        if at in self.lines:
            first = f"key '{name}' stands twice (first in line {self.lines[at]})"
            self._report(event.start_mark, first, f"keep one '{name}'")
        self.lines[at] = line
        return name

    def _line(self, mark: _Mark | None) -> int:
        # At the end of the text the parsers disagree on the line; none of theirs need be there.
        return self.first_line + (min(mark.line, self.last) if mark else 0)

    def _report(self, mark: _Mark | None, message: str, hint: str) -> None:
        self.problems.append(Problem(f"{self.path}:{self._line(mark)}", message, hint))


@dataclass(slots=True)
class _Frame:
    """A mapping or list that is still being filled, and the way to it."""

    container: dict[str, object] | list[object]
    at: NodePath
    key: str | None = None
    is_root: bool = False

    @property
    def wants_key(self) -> bool:
        return isinstance(self.container, dict) and self.key is None

    def place(self) -> NodePath:
        if self.is_root:
            return ()
        if isinstance(self.container, dict):
            return (*self.at, self.key or "")
        return (*self.at, len(self.container))

    def add(self, node: object) -> None:
        if isinstance(self.container, dict):
            self.container[self.key or ""] = node
            self.key = None
        else:
            self.container.append(node)


class _RefusedError(Exception):
    """YAML that is legal, yet not accepted here. Never leaves this module."""

    def __init__(self, mark: _Mark | None, message: str, hint: str) -> None:
        super().__init__(message)
        self.mark, self.message, self.hint = mark, message, hint


def _value(event: yaml.NodeEvent, scalars: yaml.SafeLoader) -> object:
    if isinstance(event, yaml.AliasEvent):
        hint = "write the value out"
        raise _RefusedError(event.start_mark, "uses a YAML alias (*), not accepted here", hint)
    tag = getattr(event, "tag", None)
    if tag not in (None, "!", *_PLAIN_TAGS):
        raise _RefusedError(event.start_mark, f"uses the YAML tag '{tag}'", "remove the tag")
    if isinstance(event, yaml.MappingStartEvent):
        return {}
    if isinstance(event, yaml.SequenceStartEvent):
        return []
    assert isinstance(event, yaml.ScalarEvent)
    return _scalar(event, scalars)


def _scalar(event: yaml.ScalarEvent, scalars: yaml.SafeLoader) -> object:
    resolve, construct = scalars.resolve, scalars.construct_object
    tag = event.tag if event.tag in _PLAIN_TAGS else None
    tag = tag or resolve(yaml.ScalarNode, event.value, event.implicit)  # type: ignore[no-untyped-call]  # PyYAML's stub
    if len(event.value) > LONGEST_NUMBER and tag == _INT:  # "1:1:1:..." is one, to the base of 60
        raise _RefusedError(event.start_mark, "has too large a number", "put it in quotes")
    try:
        return construct(yaml.ScalarNode(tag, event.value))
    except (ValueError, yaml.constructor.ConstructorError) as error:
        message = f"value '{event.value}' cannot be read: {error}"
        raise _RefusedError(event.start_mark, message, "put it in quotes") from error


def _words(error: yaml.MarkedYAMLError) -> str:
    detail = ", ".join(part for part in (error.problem, error.context) if part)
    return f"is not YAML: {detail}"


def _hint(error: yaml.MarkedYAMLError) -> str:
    found = (hint for sign, hint in _HINTS if sign in (error.problem or ""))
    return next(found, "correct the YAML at this line")
