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
_BEGIN_BLANK: Final = frozenset(" \t\r\n/")
_STRING: Final = re.compile(r'"(?:[^"\\\x00-\x1f]|\\.)*"')
_SCALAR: Final = re.compile(r"-?\d[\d.eE+-]*|true|false|null")
_CLOSING: Final = {"{": "}", "[": "]"}
_BOM: Final = "\ufeff"
_BLANKS: Final = " \t\r\n"
_DEFAULT_INDENT: Final = "  "

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
        if self.kind == "array":
            return [part.node.value() for part in self.parts]
        return self.scalar

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
    begin = _skip(text, 1 if text.startswith(_BOM) else 0)
    node = _value(text, begin, 0)
    end = _skip(text, node.end)
    if end < len(text):
        raise JsonTextError("text after the end of the JSON", text, end)
    return node


def _skip(text: str, at: int) -> int:
    """The place of the next thing that is neither blank nor a comment."""
    if text[at : at + 1] not in _BEGIN_BLANK:
        return at
    match = _BLANK.match(text, at)
    return match.end() if match else at


def _value(text: str, at: int, depth: int) -> Node:
    if depth > MAX_DEPTH:
        raise JsonTextError(f"it is nested more than {MAX_DEPTH} deep", text, at)
    if text[at : at + 1] in ("{", "["):
        return _container(text, at, depth)
    if text[at : at + 1] == '"':
        end, string = _string(text, at)
        return Node(at, end, "scalar", string)
    match = _SCALAR.match(text, at)
    if match is None:
        raise JsonTextError(f"expected a value, found {_shown(text, at)}", text, at)
    try:
        return Node(at, match.end(), "scalar", json.loads(match[0]))
    except ValueError as error:
        raise JsonTextError(f"'{match[0]}' is not a number", text, at) from error


def _container(text: str, at: int, depth: int) -> Node:
    opening = text[at]
    parts: list[Part] = []
    seen: set[Key] = set()
    here = _skip(text, at + 1)
    while text[here : here + 1] != _CLOSING[opening]:
        if parts and parts[-1].comma is None:
            expected = f"expected ',' or '{_CLOSING[opening]}'"
            raise JsonTextError(f"{expected}, found {_shown(text, here)}", text, here)
        part = _part(text, here, depth, index=len(parts) if opening == "[" else None)
        if part.key in seen:
            raise JsonTextError(f"duplicate key '{part.key}'", text, here)
        seen.add(part.key)
        parts.append(part)
        here = _skip(text, part.node.end if part.comma is None else part.comma + 1)
    kind: Literal["object", "array"] = "object" if opening == "{" else "array"
    return Node(at, here + 1, kind, parts=tuple(parts))


def _part(text: str, at: int, depth: int, *, index: int | None) -> Part:
    key: Key
    if index is None:
        after_key, key = _string(text, at)
        colon = _skip(text, after_key)
        if text[colon : colon + 1] != ":":
            raise JsonTextError(f"expected ':', found {_shown(text, colon)}", text, colon)
        begin = _skip(text, colon + 1)
    else:
        key, begin = index, at
    node = _value(text, begin, depth + 1)
    comma = _skip(text, node.end)
    return Part(key, at, node, comma if text[comma : comma + 1] == "," else None)


def _string(text: str, at: int) -> tuple[int, str]:
    match = _STRING.match(text, at)
    if match is None:
        raise JsonTextError(f"expected a string in quotes, found {_shown(text, at)}", text, at)
    if "\\" not in match[0]:
        return match.end(), match[0][1:-1]
    try:
        return match.end(), str(json.loads(match[0]))
    except ValueError as error:
        raise JsonTextError("invalid escape in a string", text, at) from error


def _shown(text: str, at: int) -> str:
    return f"'{text[at]}'" if at < len(text) else "the end of the file"


def insert(text: str, path: KeyPath, key: Key | None, value: object) -> str:
    """Add a member ``key`` to the object at ``path``, or an item to the array (key None).

    It comes last, in the style of the container: on a line of its own if that has lines, else on
    the same line.
    """
    node = _at(text, path)
    label = "" if key is None else f"{json.dumps(key, ensure_ascii=False)}: "
    if node.parts and "\n" not in text[node.start : node.end]:
        return _insert_inline(text, node, label + json.dumps(value, ensure_ascii=False))
    base = _indent_at(text, node.start)
    unit = _unit(text)
    child = _child_indent(text, node) or base + unit
    entry = _newline(text) + child + label + _pretty(text, value, child, unit)
    tail = _tail(text, node)
    if not node.parts:
        rest = text[tail:]
        close = "" if "\n" in text[tail : node.end - 1] else _newline(text) + base
        return text[:tail] + entry + close + (rest.lstrip(" \t") if close else rest)
    last = node.parts[-1]
    if last.comma is not None:
        return text[:tail] + entry + "," + text[tail:]
    end = last.node.end
    return text[:end] + "," + text[end:tail] + entry + text[tail:]


def replace(text: str, path: KeyPath, value: object) -> str:
    """Replace the value at ``path``."""
    node = _at(text, path)
    shown = _pretty(text, value, _indent_at(text, node.start), _unit(text))
    return text[: node.start] + shown + text[node.end :]


def remove(text: str, path: KeyPath) -> str:
    """Remove the member or item at ``path``, with its comma and its line. Comments stay."""
    parent = _at(text, path[:-1])
    index = next(i for i, part in enumerate(parent.parts) if part.key == path[-1])
    part = parent.parts[index]
    comma = part.comma
    if comma is None and index > 0:  # it was the last: the one before becomes the last
        comma = parent.parts[index - 1].comma
    if comma is not None and comma >= part.node.end:
        text = text[:comma] + text[comma + 1 :]
    text, here = text[: part.start] + text[part.node.end :], part.start
    if comma is not None and comma < here:
        text, here = text[:comma] + text[comma + 1 :], here - 1
    return _closed_up(_without_gap(text, here), path[:-1])


def _at(text: str, path: KeyPath) -> Node:
    node = parse_json_text(text).find(path)
    if node is None:
        raise KeyError(path)
    return node


def _insert_inline(text: str, node: Node, entry: str) -> str:
    last = node.parts[-1]
    if last.comma is not None:
        return f"{text[: last.comma + 1]} {entry},{text[last.comma + 1 :]}"
    return f"{text[: last.node.end]}, {entry}{text[last.node.end :]}"


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


def _closed_up(text: str, path: KeyPath) -> str:
    """The text with the container at ``path`` closed up if it holds only blanks."""
    node = _at(text, path)
    inner = text[node.start + 1 : node.end - 1]
    if inner.strip(_BLANKS):
        return text
    return text[: node.start + 1] + text[node.end - 1 :]


def _tail(text: str, node: Node) -> int:
    """Where the last part or comment of a container ends."""
    inside = text[node.start + 1 : node.end - 1]
    return node.start + 1 + len(inside.rstrip(_BLANKS))


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
    root = parse_json_text(text)
    indent = _child_indent(text, root) if root.parts else None
    return indent or _DEFAULT_INDENT


def _newline(text: str) -> str:
    return "\r\n" if "\r\n" in text else "\n"


def _pretty(text: str, value: object, indent: str, unit: str) -> str:
    lines = json.dumps(value, ensure_ascii=False, indent=unit).split("\n")
    return (_newline(text) + indent).join(lines)
