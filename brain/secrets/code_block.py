"""Code pasted into a message, replaced by a short mark: `[code: python, 12 lines]`.

The context remembers what was said, not what was pasted. A name, a path or a command in backticks
stays, because it is what the next message refers to; an inline statement or expression is code.
"""

import re
from collections.abc import Sequence
from typing import Final

from kds.brain.secrets.value_tests import DATA
from kds.brain.words.code_spans import fenced_spans

_INLINE: Final = re.compile(r"(?<!`)(?P<fence>`{1,3})(?!`)(?P<code>[^`\n]+)(?P=fence)(?!`)")

_EXPRESSION: Final = re.compile(DATA["code"]["expression"], re.VERBOSE)
"""A statement or an expression. Names, paths, flags and words of a command have none of it."""

_LONGEST_NAME: Final = 200
"""Characters between backticks. What is longer is data."""

_LANGUAGE: Final = re.compile(r"[a-z][a-z0-9+#-]{0,15}")
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
    lines = _without_fences(text).split("\n")
    if len(lines) > 1:
        lines = _without_plain_code(lines)
    return "\n".join(_INLINE.sub(_inline_mark, line) for line in lines)


def _inline_mark(found: re.Match[str]) -> str:
    is_name = len(found["code"]) <= _LONGEST_NAME and not _EXPRESSION.search(found["code"])
    return found[0] if is_name else _mark(None, 1)


def _without_fences(text: str) -> str:
    parts: list[str] = []
    at = 0
    for span in fenced_spans(text):
        inner = text[span.first_line : span.last_line]
        lines = inner.count("\n") + (not inner.endswith("\n") and bool(inner))
        known = span.language and _LANGUAGE.fullmatch(span.language)
        ending = "\n" if text[: span.end].endswith("\n") else ""
        parts += [text[at : span.fence], _mark(known and known[0], lines), ending]
        at = span.end
    return "".join((*parts, text[at:]))


def _mark(language: str | None, count: int) -> str:
    lines = "1 line" if count == 1 else f"{count} lines"
    return f"[code: {language}, {lines}]" if language else f"[code: {lines}]"


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
            run[:size] = [_mark(None, size)]
        kept += (*run, line)
        run = []
    return kept[:-1]


def _is_code(line: str) -> bool:
    short = len(line) <= _LONGEST_CODE_LINE
    return short and not _BULLET.match(line) and _CODE_LINE.match(line) is not None
