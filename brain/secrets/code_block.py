"""Code pasted into a message, replaced by a short mark: `[code: python, 12 lines]`.

The context remembers what was said, not what was pasted. A name, a path or a command in backticks
stays, because it is what the next message refers to; an inline statement or expression is code.
"""

import re
from collections.abc import Sequence
from typing import Final

from kds.brain.secrets.value_tests import DATA

_OPENING: Final = re.compile(DATA["code"]["opening"], re.VERBOSE)

_INLINE: Final = re.compile(r"(?<!`)(?P<fence>`{1,3})(?!`)(?P<code>[^`\n]+)(?P=fence)(?!`)")

_EXPRESSION: Final = re.compile(DATA["code"]["expression"], re.VERBOSE)
"""A statement or an expression. Names, paths, flags and words of a command have none of it."""

_LONGEST_NAME: Final = 200
"""Characters between backticks. What is longer is data."""

_LANGUAGE: Final = re.compile(r"[A-Za-z][A-Za-z0-9+#.-]{0,15}")
"""What may stand in a mark as a language: the longest common name is 'objective-c++'."""

_PLAIN_RUN: Final = 3
"""Code without a fence counts from this many lines on: fewer may be a list or a quotation."""

_CODE_LINE: Final = re.compile(DATA["code"]["line"], re.VERBOSE)

_BULLET: Final = re.compile(r"\s*(?:[-*+\u2022]|\d+[.)])\s")

_LONGEST_CODE_LINE: Final = 400
"""Characters. A longer line is data or prose; bounds the work of the pattern above."""


def summarise_code(text: str) -> str:
    """Replace code by marks; text without any comes back as it is.

    Fenced blocks (``` or ~~~, closed or not), runs of at least three lines that are clearly code,
    and statements and expressions between backticks. Logs, lists and names are not code.

    >>> print(summarise_code("Fix this:\\n```python\\nx = 1\\nprint(x)\\n```\\nplease"))
    Fix this:
    [code: python, 2 lines]
    please
    """
    lines = text.split("\n")
    if len(lines) > 1:
        if "```" in text or "~~~" in text:
            lines = _without_fences(lines)
        lines = _without_plain_code(lines)
    return "\n".join(_INLINE.sub(_inline_mark, line) for line in lines)


def _inline_mark(found: re.Match[str]) -> str:
    is_name = len(found["code"]) <= _LONGEST_NAME and not _EXPRESSION.search(found["code"])
    return found[0] if is_name else _mark("", 1)


def _without_fences(lines: Sequence[str]) -> list[str]:
    kept: list[str] = []
    at = 0
    while at < len(lines):
        opening = _opening(lines[at])
        end, tail = _closing(lines, at + 1, opening["fence"]) if opening else (None, "")
        if opening is None or (end is None and len(opening["info"].split()) > 1):
            kept.append(lines[at])  # with the second: prose that talks of a fence
            at += 1
            continue
        count = len(lines[at + 1 : end]) + tail.startswith("\n")
        kept.append(opening["lead"] + _mark(opening["info"], count) + tail.lstrip("\n"))
        at = len(lines) if end is None else end + 1
    return kept


def _opening(line: str) -> re.Match[str] | None:
    found = _OPENING.match(line) if "```" in line or "~~~" in line else None
    if found is None or not found["lead"].strip(" \t>"):
        return found
    # After prose only backticks open a block, and only with a bare language behind them.
    return found if found["fence"][0] == "`" and len(found["info"].split()) <= 1 else None


def _closing(lines: Sequence[str], start: int, fence: str) -> tuple[int | None, str]:
    """Find the line that ends a block: its index and what stays of it.

    A tail that starts with a line feed says that the line has code before the fence.
    """
    for index, line in enumerate(lines[start:], start):
        bare = line.lstrip(" \t>")
        rest = bare.lstrip(fence[0]).strip()
        if not bare.startswith(fence):
            if line.rstrip().endswith(fence):
                return index, "\n"
        elif not rest:
            return index, ""
        elif len(rest.split()) > 1 and fence[0] not in rest:  # prose right behind the fence
            return index, f" {rest}"
    return None, ""


def _mark(info: str, count: int) -> str:
    language = _LANGUAGE.fullmatch(info.split()[0]) if info.split() else None
    lines = "1 line" if count == 1 else f"{count} lines"
    return f"[code: {language[0].lower()}, {lines}]" if language else f"[code: {lines}]"


def _without_plain_code(lines: Sequence[str]) -> list[str]:
    kept: list[str] = []
    run: list[str] = []
    for line in (*lines, "."):  # which ends the last run
        continues = not line.strip() or line[0] in " \t"
        if _is_code(line) or (run and continues):
            run.append(line)
            continue
        blank = next((at for at, one in enumerate(reversed(run)) if one.strip()), len(run))
        size = len(run) - blank  # blank lines at the end of a run are not part of it
        if sum(map(_is_code, run)) >= _PLAIN_RUN:
            run[:size] = [_mark("", size)]
        kept += (*run, line)
        run = []
    return kept[:-1]


def _is_code(line: str) -> bool:
    short = len(line) <= _LONGEST_CODE_LINE
    return short and not _BULLET.match(line) and _CODE_LINE.match(line) is not None
