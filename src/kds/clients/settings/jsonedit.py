"""Changing one entry of a JSON text: all other characters stay as they are.

The text keeps its comments, order, indentation, line ends and trailing commas. Each function
returns a new text; paths are those of `Node.find`, and must lead somewhere.
"""

import json
from typing import Final

from kds.clients.settings.jsontext import Key, KeyPath, Node, parse_json_text

DEFAULT_INDENT: Final = "  "
_BLANKS: Final = " \t\r\n"


def insert(text: str, path: KeyPath, key: Key | None, value: object) -> str:
    """Add a member ``key`` to the object at ``path``, or an item to the array (key None).

    It comes last, in the style of what is there: on a line of its own where the container has
    lines, else on the same line.
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
    """Put ``value`` in the place of the value at ``path``."""
    node = _at(text, path)
    shown = _pretty(text, value, _indent_at(text, node.start), _unit(text))
    return text[: node.start] + shown + text[node.end :]


def remove(text: str, path: KeyPath) -> str:
    """Take out the member or item at ``path``, with its comma and the line that it had.

    Comments stay, also those beside it.
    """
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
    """The text without the blanks that something taken out at ``at`` has left.

    Only whole blank lines go, and blanks within a line: no comment gets a neighbour.
    """
    start = text.rfind("\n", 0, at) + 1
    stop = text.find("\n", at) + 1 or len(text)
    if not text[start:stop].strip(_BLANKS):
        return text[:start] + text[stop:]
    before = text[start:at].rstrip(" \t")
    if before:
        return text[:start] + before + text[at:]
    return text[:at] + text[at:].lstrip(" \t")


def _closed_up(text: str, path: KeyPath) -> str:
    """The text without the blanks in the container at ``path``, where these are all it holds."""
    node = _at(text, path)
    inner = text[node.start + 1 : node.end - 1]
    if inner.strip(_BLANKS):
        return text
    return text[: node.start + 1] + text[node.end - 1 :]


def _tail(text: str, node: Node) -> int:
    """Where the last thing in a container ends, comments included; it is blank from there."""
    inside = text[node.start + 1 : node.end - 1]
    return node.start + 1 + len(inside.rstrip(_BLANKS))


def _child_indent(text: str, node: Node) -> str | None:
    """The indentation of the parts, where the last one begins a line."""
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
    return indent or DEFAULT_INDENT


def _newline(text: str) -> str:
    return "\r\n" if "\r\n" in text else "\n"


def _pretty(text: str, value: object, indent: str, unit: str) -> str:
    lines = json.dumps(value, ensure_ascii=False, indent=unit).split("\n")
    return (_newline(text) + indent).join(lines)
