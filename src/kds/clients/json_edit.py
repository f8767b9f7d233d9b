"""Edits of one entry in JSON with comments and trailing commas (JSONC).

Settings files belong to their user: the text keeps its comments, order, indentation, line ends
and trailing commas, and only the entry changes. The grammar is RFC 8259, with the comments and
trailing commas that VS Code and the assistants accept. Paths are those of `Node.find`.
"""

import json
import re
from dataclasses import dataclass
from functools import lru_cache
from typing import Final, Literal

MAX_DEPTH: Final = 100
"""Settings nest five deep; a deeper text is meant to break its reader."""

_BLANK: Final = re.compile(r"(?:[ \t\r\n]+|//[^\r\n]*|/\*.*?\*/)*", re.DOTALL)
_STRING: Final = re.compile(r'"(?:[^"\\\x00-\x1f]|\\.)*"')
_SCALAR: Final = re.compile(r"-?\d[\d.eE+-]*|true|false|null")
_CLOSING: Final = {"{": "}", "[": "]"}
_BLANKS: Final = " \t\r\n"

Key = str | int
KeyPath = tuple[Key, ...]


class JsonTextError(Exception):
    """Invalid JSON. ``line`` and ``column`` count from 1."""

    def __init__(self, message: str, text: str, at: int) -> None:
        super().__init__(message)
        self.message = message
        self.line = text.count("\n", 0, at) + 1
        self.column = at - text.rfind("\n", 0, at)


@dataclass(frozen=True, slots=True)
class Node:
    """A value and its span in the text. ``scalar`` is its value unless it has parts."""

    start: int
    end: int
    kind: Literal["object", "array", "scalar"]
    scalar: object = None
    parts: tuple["Part", ...] = ()

    def value(self) -> object:
        """The value as plain data."""
        if self.kind == "object":
            return {part.key: part.node.value() for part in self.parts}
        return [part.node.value() for part in self.parts] if self.kind == "array" else self.scalar

    def find(self, path: KeyPath) -> "Node | None":
        """The node at ``path``, or None."""
        if not path:
            return self
        below = next((part.node for part in self.parts if part.key == path[0]), None)
        return below.find(path[1:]) if below else None


@dataclass(frozen=True, slots=True)
class Part:
    """A member of an object, or an item of an array (its key is its index).

    ``start`` is where the key begins, for an item the value; ``comma`` is the place of the comma
    after it, or None.
    """

    key: Key
    start: int
    node: Node
    comma: int | None


@lru_cache(maxsize=2)
def parse_json_text(text: str) -> Node:
    """Parse a whole text. Raises JsonTextError, also for a duplicate key.

    An edit parses the same text several times, so the last trees are cached.

    >>> parse_json_text('{"a": [1, 2,], // two\\n}').value()
    {'a': [1, 2]}
    """
    node = _value(text, _skip(text, int(text.startswith("\ufeff"))), 0)
    if (end := _skip(text, node.end)) < len(text):
        raise JsonTextError("text after the end of the JSON", text, end)
    return node


def _skip(text: str, at: int) -> int:
    """The place of the next thing that is neither blank nor a comment."""
    blank = _BLANK.match(text, at)
    return blank.end() if blank else at


def _expected(what: str, text: str, at: int) -> JsonTextError:
    found = f"'{text[at]}'" if at < len(text) else "the end of the file"
    return JsonTextError(f"expected {what}, found {found}", text, at)


def _value(text: str, at: int, depth: int) -> Node:
    if depth > MAX_DEPTH:
        raise JsonTextError(f"it is nested more than {MAX_DEPTH} deep", text, at)
    if text[at : at + 1] in _CLOSING:
        return _container(text, at, depth)
    if text[at : at + 1] == '"':
        return _string(text, at)
    if not (match := _SCALAR.match(text, at)):
        raise _expected("a value", text, at)
    try:
        return Node(at, match.end(), "scalar", json.loads(match[0]))
    except ValueError as error:
        raise JsonTextError(f"'{match[0]}' is not a number", text, at) from error


def _container(text: str, at: int, depth: int) -> Node:
    closing, is_object = _CLOSING[text[at]], text[at] == "{"
    parts: dict[Key, Part] = {}
    here = _skip(text, at + 1)
    comma: int | None = at
    while text[here : here + 1] != closing:
        if comma is None:
            raise _expected(f"',' or '{closing}'", text, here)
        key: Key = len(parts)
        begin = here
        if is_object:
            name = _string(text, here)
            key, colon = str(name.scalar), _skip(text, name.end)
            if text[colon : colon + 1] != ":":
                raise _expected("':'", text, colon)
            begin = _skip(text, colon + 1)
        node = _value(text, begin, depth + 1)
        if key in parts:
            raise JsonTextError(f"duplicate key '{key}'", text, here)
        after = _skip(text, node.end)
        comma = after if text[after : after + 1] == "," else None
        parts[key] = Part(key, here, node, comma)
        here = after if comma is None else _skip(text, comma + 1)
    return Node(at, here + 1, "object" if is_object else "array", parts=tuple(parts.values()))


def _string(text: str, at: int) -> Node:
    if not (match := _STRING.match(text, at)):
        raise _expected("a string in quotes", text, at)
    try:
        return Node(at, match.end(), "scalar", json.loads(match[0]))
    except ValueError as error:
        raise JsonTextError("invalid escape in a string", text, at) from error


def insert(text: str, path: KeyPath, key: Key | None, value: object) -> str:
    """Add a member ``key`` to the object at ``path``, or an item to the array (key None).

    It comes last, in the style of the container: on a line of its own if that has lines, else on
    the same line.
    """
    node = _at(text, path)
    label = "" if key is None else f"{json.dumps(key, ensure_ascii=False)}: "
    last = node.parts[-1] if node.parts else None
    if last and "\n" not in text[node.start : node.end]:
        entry = label + json.dumps(value, ensure_ascii=False)
        if last.comma is not None:
            return f"{text[: last.comma + 1]} {entry},{text[last.comma + 1 :]}"
        return f"{text[: last.node.end]}, {entry}{text[last.node.end :]}"
    base, unit = _indent_at(text, node.start), _unit(text)
    child = _child_indent(text, node) or base + unit
    entry = _newline(text) + child + label + _pretty(text, value, child, unit)
    tail = node.start + 1 + len(text[node.start + 1 : node.end - 1].rstrip(_BLANKS))
    if not last:
        rest = text[tail:]
        if "\n" in text[tail : node.end - 1]:
            return text[:tail] + entry + rest
        return text[:tail] + entry + _newline(text) + base + rest.lstrip(" \t")
    if last.comma is not None:
        return text[:tail] + entry + "," + text[tail:]
    return text[: last.node.end] + "," + text[last.node.end : tail] + entry + text[tail:]


def replace(text: str, path: KeyPath, value: object) -> str:
    """Replace the value at ``path``."""
    node = _at(text, path)
    shown = _pretty(text, value, _indent_at(text, node.start), _unit(text))
    return text[: node.start] + shown + text[node.end :]


def remove(text: str, path: KeyPath) -> str:
    """Remove the member or item at ``path``, with its comma and its line. Comments stay."""
    parts = _at(text, path[:-1]).parts
    index = next(i for i, part in enumerate(parts) if part.key == path[-1])
    part = parts[index]
    comma = part.comma
    if comma is None and index > 0:  # it was the last: the one before becomes the last
        comma = parts[index - 1].comma
    cuts = [(part.start, part.node.end), *([(comma, comma + 1)] if comma else [])]
    for start, end in sorted(cuts, reverse=True):
        text = text[:start] + text[end:]
    here = part.start - (comma is not None and comma < part.start)
    text = _without_gap(text, here)
    above = _at(text, path[:-1])
    if text[above.start + 1 : above.end - 1].strip(_BLANKS):
        return text
    return text[: above.start + 1] + text[above.end - 1 :]  # only blanks are left in it


def _at(text: str, path: KeyPath) -> Node:
    node = parse_json_text(text).find(path)
    if node is None:
        raise KeyError(path)
    return node


def _without_gap(text: str, at: int) -> str:
    """The text without the blanks that a removal at ``at`` has left: a line, or part of one."""
    start = text.rfind("\n", 0, at) + 1
    stop = text.find("\n", at) + 1 or len(text)
    if not text[start:stop].strip(_BLANKS):
        return text[:start] + text[stop:]
    before = text[start:at].rstrip(" \t")
    if before:
        return text[:start] + before + text[at:]
    return text[:at] + text[at:].lstrip(" \t")


def _child_indent(text: str, node: Node) -> str | None:
    """The indentation of the parts, if the last one begins a line."""
    if not node.parts:
        return None
    start = node.parts[-1].start
    before = text[text.rfind("\n", 0, start) + 1 : start]
    return before if not before.strip(_BLANKS) else None


def _indent_at(text: str, at: int) -> str:
    line = text[text.rfind("\n", 0, at) + 1 : at]
    return line[: len(line) - len(line.lstrip(" \t"))]


def _unit(text: str) -> str:
    """One step of indentation, as the first part of the text shows it."""
    return _child_indent(text, parse_json_text(text)) or "  "


def _newline(text: str) -> str:
    return "\r\n" if "\r\n" in text else "\n"


def _pretty(text: str, value: object, indent: str, unit: str) -> str:
    lines = json.dumps(value, ensure_ascii=False, indent=unit).split("\n")
    return (_newline(text) + indent).join(lines)
