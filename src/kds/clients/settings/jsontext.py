"""JSON with comments and trailing commas (JSONC), read with the place of everything in it.

Settings files belong to their user: to change one entry of such a file, and nothing else, one
has to know where in the text it stands. The grammar is RFC 8259, with the comments and the
trailing commas that VS Code and the assistants accept in their settings.
"""

import json
import re
from dataclasses import dataclass
from functools import lru_cache
from typing import Final, Literal

MAX_DEPTH: Final = 100
"""Settings nest five deep; beyond this a text is meant to break its reader."""

MAX_VALUES: Final = 20_000
"""A settings file has hundreds. This many take 0.1 s to read, and each of up to 20 steps of an
edit reads anew; 150,000 made `kds init` take a minute."""

_BLANK: Final = re.compile(r"(?:[ \t\r\n]+|//[^\r\n]*|/\*.*?\*/)*", re.DOTALL)
_BEGIN_BLANK: Final = frozenset(" \t\r\n/")
_STRING: Final = re.compile(r'"(?:[^"\\\x00-\x1f]|\\.)*"')
_SCALAR: Final = re.compile(r"-?\d[\d.eE+-]*|true|false|null")
_CLOSING: Final = {"{": "}", "[": "]"}
_BOM: Final = "\ufeff"

Key = str | int
KeyPath = tuple[Key, ...]


class JsonTextError(Exception):
    """The text is not JSON. ``line`` and ``column`` count from 1."""

    def __init__(self, message: str, text: str, at: int) -> None:
        super().__init__(message)
        self.message = message
        self.line = text.count("\n", 0, at) + 1
        self.column = at - text.rfind("\n", 0, at)


@dataclass(frozen=True, slots=True)
class Node:
    """A value, and the span of the text it takes. ``scalar`` counts where it has no parts."""

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
    """A member of an object (its key is text) or an item of an array (its key counts).

    ``start`` is where the key begins, for an item the value; ``comma`` is where the comma behind
    it stands, None when there is none.
    """

    key: Key
    start: int
    node: Node
    comma: int | None


@lru_cache(maxsize=2)
def parse_json_text(text: str) -> Node:
    """Read a whole text. Raises JsonTextError: also for a key that stands twice.

    An edit asks for the same text several times: the last trees are kept; nobody can change one.

    >>> parse_json_text('{"a": [1, 2,], // two\\n}').value()
    {'a': [1, 2]}
    """
    if sum(text.count(mark) for mark in ",[{") > MAX_VALUES:  # one before each value at least
        raise JsonTextError(f"it holds more than {MAX_VALUES} values", text, 0)
    begin = _skip(text, 1 if text.startswith(_BOM) else 0)
    node = _value(text, begin, 0)
    end = _skip(text, node.end)
    if end < len(text):
        raise JsonTextError("something stands behind the end of the JSON", text, end)
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
        raise JsonTextError(f"'{match[0]}' is no number", text, at) from error


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
            raise JsonTextError(f"the key '{part.key}' stands twice", text, here)
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
        raise JsonTextError(f"expected a text in quotes, found {_shown(text, at)}", text, at)
    if "\\" not in match[0]:
        return match.end(), match[0][1:-1]
    try:
        return match.end(), str(json.loads(match[0]))
    except ValueError as error:
        raise JsonTextError("the text in quotes has a wrong escape", text, at) from error


def _shown(text: str, at: int) -> str:
    return f"'{text[at]}'" if at < len(text) else "the end of the file"
