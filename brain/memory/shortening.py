"""What of a reply goes back to the model: its beginning, and the size of its code.

A reply is sent again with every question as long as it is in the window. Its first sentences
say what it was about; the whole of it stays in the memory and can be recalled.
"""

import re
import unicodedata
from typing import Final

from kds.brain.words.code_spans import CodeSpan, code_spans
from kds.brain.words.terms import TokenCounter

REPLY_CHARS: Final = 500
"""Characters of a reply that are sent again, the sign of the cut included."""

CUT: Final = " …"

CHARS_A_TOKEN: Final = 12
"""More than any text has on average: words alone come to 5 or 6. What is longer than that many
characters a token is cut before it is counted."""

CODE_MARK: Final = re.compile(r"\[code: [^\]\n]*\]")
"""Stands for a block of code."""

_MARK_HEADER: Final = 60


def shorten(text: str, *, limit: int = REPLY_CHARS) -> str:
    """Return ``text`` in at most ``limit`` characters, cut at a word border.

    A text that is longer has its blocks of code replaced by marks first.

    >>> shorten("one two three", limit=10)
    'one two …'
    """
    if len(text) > limit:
        text = mark_code(text)
    return text if len(text) <= limit else _cut(text, limit)


def mark_code(text: str) -> str:
    r"""Replace each block of code by its language, its lines, its file and first definition.

    >>> mark_code("Look:\n```python\ndef load(rows):\n    return rows\n```\nDone")
    'Look:\n[code: python, 2 lines, def load(rows):]\nDone'
    """
    marked, at = "", 0
    for span in code_spans(text):
        marked += text[at : span.start] + _mark(text, span)
        at = span.end
    return marked + text[at:]


def _mark(text: str, span: CodeSpan) -> str:
    block = text[span.start : span.end]
    fences = 2 if span.first_line > span.start else 0
    count = max(block.rstrip("\n").count("\n") + 1 - fences, 1)
    header = re.sub(r"[\[\]\s]+", " ", span.header(text))[:_MARK_HEADER].strip()
    said = (span.language, "1 line" if count == 1 else f"{count} lines", header)
    return f"[code: {', '.join(filter(None, said))}]" + "\n" * block.endswith("\n")


def fit(text: str, limit_tokens: int, count: TokenCounter) -> str:
    """Return ``text`` in at most ``limit_tokens``, cut at a word border; "" when nothing fits.

    >>> from kds.brain.words.terms import estimate_tokens
    >>> fit("Make the FAB button purple", 4, estimate_tokens)
    'Make the FAB …'
    """
    if fits(text, limit_tokens, count):
        return text
    low, high = 0, min(len(text), limit_tokens * CHARS_A_TOKEN)
    best = ""
    while low < high:
        middle = (low + high + 1) // 2
        part = _cut(text, middle) if middle < len(text) else text
        if count(part) <= limit_tokens:
            low, best = middle, part
        else:
            high = middle - 1
    return best if best.strip(CUT) else ""


def fits(text: str, limit_tokens: int, count: TokenCounter) -> bool:
    """Tell whether ``text`` has at most ``limit_tokens``, without counting what cannot."""
    return len(text) <= limit_tokens * CHARS_A_TOKEN and count(text) <= limit_tokens


def _cut(text: str, limit: int) -> str:
    """Cut at the last word border that leaves at most ``limit`` characters, the sign included."""
    end = max(limit - len(CUT), 0)
    if end and not text[end].isspace() and not text[end - 1].isspace():
        border = max(text.rfind(" ", 0, end), text.rfind("\n", 0, end))
        if border > end // 2:
            end = border
        else:  # a word that is half of what is left (a key, a script without spaces): inside
            while end > 1 and unicodedata.combining(text[end]):  # no letter loses its accents
                end -= 1
    for mark in CODE_MARK.finditer(text):
        if mark.start() < end < mark.end():
            end = mark.start()
    return f"{text[:end].rstrip()}{CUT}" if limit > len(CUT) else ""
