"""YAML files with line numbers, validated into problems a person can act on.

Prompt front matter, rules and settings are read here. A wrong file never raises: every fault
becomes a Problem, so that all of them can be shown at once.
"""

import errno
import re
from collections.abc import Callable, Iterator, Mapping
from contextvars import ContextVar
from dataclasses import dataclass, field
from difflib import get_close_matches
from pathlib import Path
from types import MappingProxyType
from typing import Any, Final, TypeVar

import yaml
from pydantic import BaseModel, ValidationError
from pydantic_core import ErrorDetails

from kds.brain.errors import ConfigError, Problem

MAX_DEPTH: Final = 40
"""Nesting above this is refused: real files stay below 8, and readers recurse."""

NodePath = tuple[str | int, ...]
"""The way to a node: ("patterns", 2, "regex") is the key `regex` of the third pattern."""

LONGEST_NUMBER: Final = 100
"""Characters: Python refuses to write out numbers of more than 4,300 digits."""

_TAGS: Final = frozenset("str int float bool null timestamp value merge seq map".split())
"""Kinds of nodes that plain YAML has without a tag."""

# The C parser (libyaml) is about ten times faster; not every PyYAML has it. The pure one is a
# little stricter: no bare `?` between brackets, no tab between words.
_PARSER: Final = getattr(yaml, "CSafeLoader", yaml.SafeLoader)

# What no YAML text may hold. Looked for here, as the parsers count the place in different units
# (bytes, characters) and disagree on a byte order mark within the text.
_CONTROL: Final = re.compile(
    r"[^\t\n\r\x20-\x7e\x85\xa0-\ud7ff\ue000-\ufefe\uff00-\ufffd\U00010000-\U0010ffff]"
)

_TOO_DEEP: Final = ("is nested too deeply", "flatten it")
_REFUSED: Final = (
    ("nesting", *_TOO_DEEP),  # libyaml has a limit of its own
    ("another document", "begins a second YAML document", "remove the line '---' between them"),
    ("", "is not YAML: {}", "correct the YAML at this line"),
)
"""What the parsers' words hold, what is said of it, and the way out."""


class _RefusedError(Exception):
    """YAML that is legal, yet not accepted here: line, message, hint. Never leaves this module."""


@dataclass(slots=True)
class _Reader:
    """Builds plain data from YAML nodes, noting the line of each.

    ``lines`` maps the way to a node to its line; ``problems`` collects what is wrong; ``last`` is
    the last line that holds something, counted from 0.
    """

    path: str
    first_line: int
    last: int
    lines: dict[NodePath, int] = field(default_factory=dict)
    problems: list[Problem] = field(default_factory=list)
    seen: set[int] = field(default_factory=set)
    scalars: yaml.SafeLoader = field(default_factory=lambda: yaml.SafeLoader(""))

    def read(self, text: str) -> object:
        """The data of the one document in ``text``; None when it is empty or refused."""
        try:
            # A byte order mark is welcome at the very beginning.
            if control := _CONTROL.search(text, text.startswith("\ufeff")):
                message = "is not YAML: control characters are not allowed"
                hint = "remove the control character from this line"
                raise _RefusedError(text.count("\n", 0, control.start()), message, hint)
            root = yaml.compose(text, Loader=_PARSER)
            return None if root is None else self._value(root, ())
        except yaml.MarkedYAMLError as error:
            said = ", ".join(part for part in (error.problem, error.context) if part)
            message, hint = next(row[1:] for row in _REFUSED if row[0] in said)
            line = error.problem_mark.line if error.problem_mark else 0
            self._report(line, message.format(said), hint)
        except RecursionError:
            self._report(0, *_TOO_DEEP)
        except _RefusedError as refused:
            self._report(*refused.args)
        return None

    def _value(self, node: yaml.Node, at: NodePath) -> object:
        line = node.start_mark.line
        if id(node) in self.seen:
            here = self.lines.get(at, self.lines.get(at[:-1], self.first_line)) - self.first_line
            raise _RefusedError(here, "uses a YAML alias (*), not accepted here", "write it out")
        self.seen.add(id(node))
        self.lines.setdefault(at, self._line(line))
        if node.tag.rpartition(":")[2] not in _TAGS:
            raise _RefusedError(line, f"uses the YAML tag '{node.tag}'", "remove the tag")
        if len(at) >= MAX_DEPTH:
            raise _RefusedError(line, *_TOO_DEEP)
        if isinstance(node, yaml.MappingNode):
            named = ((self._key(key, at), value) for key, value in node.value)
            return {name: self._value(one, (*at, name)) for name, one in named}
        if isinstance(node, yaml.SequenceNode):
            return [self._value(one, (*at, index)) for index, one in enumerate(node.value)]
        if len(node.value) > LONGEST_NUMBER and node.tag.endswith(":int"):
            # "1:1:1:..." is one, to the base of 60
            raise _RefusedError(line, "has too large a number", "put it in quotes")
        try:
            return self.scalars.construct_object(node)
        except (ValueError, yaml.constructor.ConstructorError) as error:
            message = f"value '{node.value}' cannot be read: {error}"
            raise _RefusedError(line, message, "put it in quotes") from error

    def _key(self, key: yaml.Node, at: NodePath) -> str:
        line, name = key.start_mark.line, key.value
        if not isinstance(key, yaml.ScalarNode):
            hint = "use a plain word as the key"
            raise _RefusedError(line, "has a key that is not text", hint)
        if (first := self.lines.get((*at, name))) is not None:
            message = f"key '{name}' stands twice (first in line {first})"
            self._report(line, message, f"keep one '{name}'")
        self.lines[*at, name] = self._line(line)
        return str(name)

    def _line(self, line: int) -> int:
        # At the end of the text the parsers disagree on the line, which need not exist.
        return self.first_line + min(line, self.last)

    def _report(self, line: int, message: str, hint: str) -> None:
        self.problems.append(Problem(f"{self.path}:{self._line(line)}", message, hint))


MAX_BYTES: Final = 1_000_000
"""Files above this size are refused: no prompt or rule file written by a person comes near."""

MOST_FILES: Final = 200
MOST_BYTES: Final = 500_000
"""What a workspace's own folder of rules, prompts or words may hold: read before the first answer,
that takes a second or two. What ships has 60 kB of rules and 85 kB of prompts."""

ModelT = TypeVar("ModelT", bound=BaseModel)
LoadedT = TypeVar("LoadedT")


@dataclass(frozen=True, slots=True)
class Document:
    """Parsed YAML: its data, the line of every node, and what was wrong with it.

    ``data`` is None when the text is empty or does not parse.
    """

    path: str
    data: object
    lines: Mapping[NodePath, int]
    first_line: int = 1
    problems: tuple[Problem, ...] = ()

    def line(self, at: NodePath = ()) -> int:
        """The line of the node at ``at``, or of its nearest parent that is there."""
        for end in range(len(at), -1, -1):
            if (line := self.lines.get(at[:end])) is not None:
                return line
        return self.first_line

    def where(self, at: NodePath = ()) -> str:
        """``path:line`` of a node, as problems name it."""
        return f"{self.path}:{self.line(at)}"


NOTHING: Final[frozenset[Path]] = frozenset()


def files_in(
    folder: Path, pattern: str, without: frozenset[Path] = NOTHING
) -> list[Path] | Problem:
    """The files of a workspace's folder by name, or the Problem that they are too many.

    Nothing of a folder that is not there, or is left out by name or with a folder above it.
    """
    if not without.isdisjoint((folder, *folder.parents)):
        return []
    found = sorted(set(folder.glob(pattern)) - without) if folder.is_dir() else []
    if len(found) > MOST_FILES:
        message = f"holds {len(found):,} files, more than {MOST_FILES}"
        return Problem(str(folder), message, "join them, or move what is not needed away")
    size = sum(path.lstat().st_size for path in found)
    if size > MOST_BYTES and len(found) > 1:
        message = f"holds {size // 1000:,} kB, more than {MOST_BYTES // 1000:,}"
        return Problem(str(folder), message, "move what is not needed away")
    return found


UNSAVED: Final[ContextVar[Mapping[Path, str]]] = ContextVar("unsaved", default=MappingProxyType({}))
"""Texts that count in place of what is in the files: those of an editor that are not saved yet."""


def loading(
    load: Callable[[frozenset[Path]], LoadedT], folder: Path
) -> tuple[LoadedT, tuple[Problem, ...]]:
    """Load what a workspace's ``folder`` has without the files that are wrong, and say what is.

    ``load`` takes the files to leave out. Raises ConfigError when it is not the folder that is
    wrong.
    """
    left_out, problems = NOTHING, list[Problem]()
    while True:
        try:
            return load(left_out), tuple(problems)
        except ConfigError as error:
            if folder in left_out:
                raise
            found = {problem.path for problem in error.problems}
            own = {path for path in found if path.is_relative_to(folder)} - left_out
            problems += error.problems
            left_out |= own or {folder}


def read_text(path: Path) -> str | Problem:
    """The text of a UTF-8 file, or the Problem that keeps it from being read."""
    if (unsaved := UNSAVED.get().get(path)) is not None:
        return unsaved.replace("\r\n", "\n")
    try:
        if path.exists() and not path.is_file():  # a pipe, which may come with a project, waits
            raise OSError(errno.EINVAL, "it is not an ordinary file")
        with path.open("rb") as file:
            raw = file.read(MAX_BYTES + 1)  # a size may be a lie (/proc), or grow
    except OSError as error:
        reason = error.strerror or type(error).__name__
        return Problem(f"{path}:1", f"cannot be read: {reason}", "check the file and its rights")
    text = decoded(raw, path=str(path))
    return text if isinstance(text, Problem) else text.removeprefix("\ufeff").replace("\r\n", "\n")


def decoded(raw: bytes, *, path: str) -> str | Problem:
    """The text that the bytes of a file are, to the letter, or why they are none to be read."""
    if len(raw) > MAX_BYTES:
        return Problem(f"{path}:1", f"is larger than {MAX_BYTES // 1000} kB", "split the file")
    try:
        return raw.decode()
    except UnicodeDecodeError as error:
        line = raw.count(b"\n", 0, error.start) + 1
        return Problem(f"{path}:{line}", "is not UTF-8 text", "save the file as UTF-8")


def parse_yaml(text: str, *, path: str, first_line: int = 1) -> Document:
    """Parse one YAML document. ``first_line`` is the line of ``text`` within its file.

    Aliases, repeated keys, deep nesting and tags beyond plain data are problems.

    >>> document = parse_yaml("name: x\\npatterns:\\n  - {regex: a}\\n", path="f.md", first_line=2)
    >>> document.data, document.where(("patterns", 0, "regex"))
    ({'name': 'x', 'patterns': [{'regex': 'a'}]}, 'f.md:4')
    """
    reader = _Reader(path, first_line, text.rstrip().count("\n"))
    data = reader.read(text)
    return Document(path, data, reader.lines, first_line, tuple(reader.problems))


def validate(
    document: Document, model: type[ModelT], *, at: NodePath = ()
) -> ModelT | tuple[Problem, ...]:
    """Fit the node at ``at`` to a pydantic model, or say everything that is wrong with it.

    Problems of the document itself count when the whole of it is validated (``at=()``).
    Models should be strict and forbid extra keys.
    """
    problems = [] if at else list(document.problems)
    if problems and document.data is None:
        return tuple(problems)
    data: Any = document.data
    for part in at:
        data = data[part]
    try:
        value = model.model_validate(data)
    except ValidationError as error:
        found = error.errors()
        unknown = [one["loc"] for one in found if one["type"] == "extra_forbidden"]
        problems += [
            _problem(document, at, model, one)
            for one in found
            # a key that is missing because it is misspelt beside: one fault, one problem
            if one["type"] != "missing" or not _is_misspelt(one["loc"], unknown)
        ]
    if problems:
        return tuple(sorted(problems, key=lambda one: int(one.where.rpartition(":")[2])))
    return value


def nearest(word: str, known: Mapping[str, object] | list[str]) -> str | None:
    """The known name most like ``word``, or None.

    >>> nearest("patern", ["name", "patterns"])
    'patterns'
    """
    found = get_close_matches(word, list(known), n=1, cutoff=0.6)
    return found[0] if found else None


def did_you_mean(word: str, known: Mapping[str, object] | list[str], otherwise: str) -> str:
    """The way out of a wrong name: the known one most like ``word``, or what else there is to do.

    >>> did_you_mean("patern", ["name", "patterns"], "remove it")
    "did you mean 'patterns'?"
    """
    near = nearest(word, known)
    return f"did you mean '{near}'?" if near else otherwise


def _is_misspelt(loc: NodePath, unknown: list[NodePath]) -> bool:
    beside = [str(key[-1]) for key in unknown if key[:-1] == loc[:-1]]
    return nearest(str(loc[-1]), beside) is not None


def _problem(
    document: Document, at: NodePath, model: type[BaseModel], found: ErrorDetails
) -> Problem:
    loc = found["loc"]
    key = str(loc[-1]) if loc else ""
    place, known = document.where((*at, *loc)), _keys_at(model, loc[:-1])
    if found["type"] == "extra_forbidden":
        hint = did_you_mean(key, known, f"remove it, or use one of: {', '.join(known)}")
        return Problem(place, f"unknown key {_name(loc)}", hint)
    if found["type"] == "missing":
        near = nearest(key, [one for one in map(str, found["input"]) if one not in known])
        hint = f"is '{near}' meant?" if near else f"add '{key}: ...'"
        return Problem(place, f"key {_name(loc)} is missing", hint)
    message, hint = _MESSAGES.get(found["type"], ("", "correct the value"))
    message = message or found["msg"].removeprefix("Value error, ").lower()
    context = found.get("ctx", {})
    if expected := context.get("expected"):
        hint = did_you_mean(str(found["input"]), _QUOTED.findall(expected), f"use {expected}")
    given = "nothing" if found["input"] is None else repr(found["input"])
    given = given if len(given) <= 60 else f"{given[:57]}..."
    return Problem(place, f"{_name(loc)} {message.format(**context)}, not {given}", hint)


_QUOTED: Final = re.compile(r"'([^']*)'")
"""One of the values that pydantic lists."""

_MESSAGES: Final[Mapping[str, tuple[str, str]]] = {
    "string_type": ("must be text", "put the value in quotes"),
    "bool_type": ("must be true or false", "write true or false, without quotes"),
    "int_type": ("must be a whole number", "write a number such as 50, without quotes"),
    "float_type": ("must be a number", "write a number such as 0.8 or 30, without quotes"),
    "list_type": ("must be a list", "write one item a line, each after '- '"),
    "frozen_set_type": ("must be a list", "write one item a line, each after '- '"),
    "tuple_type": ("must be a list", "write one item a line, each after '- '"),
    "dict_type": ("must be a mapping", "write 'key: value' lines"),
    "model_type": ("must be a mapping", "write 'key: value' lines"),
    "literal_error": ("must be {expected}", "correct the value"),
    "string_too_long": ("must have at most {max_length} characters", "shorten it"),
    "string_too_short": ("must not be empty", "write something"),
    "too_long": ("must have at most {max_length} items", "leave the weakest out"),
    "too_short": ("must have at least {min_length} items", "add an item"),
    "greater_than": ("must be above {gt}", "correct the number"),
    "greater_than_equal": ("must be {ge} or more", "correct the number"),
    "less_than": ("must be below {lt}", "correct the number"),
    "less_than_equal": ("must be {le} or less", "correct the number"),
    "string_pattern_mismatch": ("must match {pattern}", "correct the spelling"),
    "finite_number": ("must be a finite number", "correct the number"),
}


def _name(loc: tuple[str | int, ...]) -> str:
    """Plain words for a way into a document.

    >>> _name(("patterns", 2, "weight"))
    "'weight' (in patterns, item 3)"
    """
    words = [f"item {part + 1}" if isinstance(part, int) else str(part) for part in loc]
    if not words:
        return "the file"
    *parents, last = words
    name = last if isinstance(loc[-1], int) else f"'{last}'"
    return f"{name} (in {', '.join(parents)})" if parents else name


def _keys_at(model: type[BaseModel], loc: tuple[str | int, ...]) -> list[str]:
    """The keys beside one at ``loc``, found through the types of the fields."""
    for part in loc:
        for name, info in model.model_fields.items():
            if part in (name, info.alias) or name == "root":
                model = next(_models_in(info.annotation), model)
    return [info.alias or name for name, info in model.model_fields.items()]


def _models_in(annotation: object) -> Iterator[type[BaseModel]]:
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        yield annotation
    for inner in getattr(annotation, "__args__", ()):
        yield from _models_in(inner)
