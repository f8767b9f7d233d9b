"""Cutting a message into parts that can be found and quoted by themselves.

A block of code is one part, whatever its length, and keeps its language. Prose is cut at
headings, and where it is longer than the limit between paragraphs, sentences, lines, words, in
this order. The parts, put together, are the message.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Final

from kds.brain.passages.values import ChunkKind
from kds.brain.words.code_spans import CodeSpan, code_spans
from kds.brain.words.terms import TokenCounter, estimate_tokens, ident_words

CHUNK_TOKENS: Final = 500
"""The most a part of prose may have."""

_HEADING: Final = re.compile(
    r"^(?:[ ]{0,3}\#{1,6}[ \t]+(?P<marked>\S.*?)[ \t#]*|\*\*(?P<bold>[^*\n]{1,80})\*\*:?[ \t]*)$",
    re.MULTILINE,
)
Borders = Sequence[re.Pattern[str]]
"""What parts are cut at when they are too big, the coarsest first."""

_BORDERS: Final = (
    re.compile(r"\n[ \t]*\n\s*"),
    re.compile(r"(?<=[.!?…])[\"')\]]*\s+|(?<=[。！？])"),
    re.compile(r"\n"),
    re.compile(r"\s+"),
)
"""Between paragraphs, sentences, lines, words."""


@dataclass(frozen=True, slots=True)
class Piece:
    """A part of a message: ``content[start : start + length]``."""

    kind: ChunkKind
    language: str | None
    header: str
    start: int
    length: int
    idents: str
    tokens: int

    def of(self, content: str) -> str:
        """Return the part of its message."""
        return content[self.start : self.start + self.length]


def cut(
    content: str, *, count: TokenCounter = estimate_tokens, limit: int = CHUNK_TOKENS
) -> tuple[Piece, ...]:
    """Cut ``content`` into parts of at most ``limit`` tokens; white space alone has none.

    >>> [(piece.kind, piece.length) for piece in cut("Look:\\n```\\nx = 1\\n```\\n")]
    [('prose', 6), ('code', 14)]
    """
    if not content.strip():
        return ()
    parts = list(_parts(content, count, limit))
    ends = [*(start for start, _, _ in parts[1:]), len(content)]
    kept = [part for part, end in zip(parts, ends, strict=True) if content[part[0] : end].strip()]
    # What stands before white space takes it, or the first part.
    starts = [0, *(start for start, _, _ in kept[1:]), len(content)]
    found = []
    for (_, header, code), (start, end) in zip(kept, pairwise(starts), strict=False):
        body = content[start:end]
        kind: ChunkKind = "code" if code else "prose"
        idents = ident_words(body, code=code is not None)
        language = code.language if code else None
        found.append(Piece(kind, language, header, start, len(body), idents, count(body)))
    return tuple(found)


def _parts(
    content: str, count: TokenCounter, limit: int
) -> Iterator[tuple[int, str, CodeSpan | None]]:
    """Yield where each part begins, its heading, and the code that it is."""
    at = 0
    heading = ""
    for span in (*code_spans(content), None):
        end = span.start if span else len(content)
        for start, stop, title in _sections(content, at, end, heading):
            heading = title
            for piece in packed(content, start, stop, _BORDERS, count, limit):
                yield piece, heading, None
        if span:
            yield span.start, span.header(content) or heading, span
            at = span.end


def _sections(content: str, start: int, end: int, heading: str) -> Iterator[tuple[int, int, str]]:
    """Yield the stretches of prose under one heading each, the heading included."""
    at = start
    for found in _HEADING.finditer(content, start, end):
        if found.start() > at:
            yield at, found.start(), heading
        at, heading = found.start(), (found["marked"] or found["bold"]).strip(" *`:")
    yield at, end, heading


def packed(
    content: str, start: int, end: int, borders: Borders, count: TokenCounter, limit: int
) -> Iterator[int]:
    """Yield the starts of parts of at most ``limit`` tokens.

    They are cut at the first of ``borders`` where it gives such parts, else at the next, and a
    single word anywhere.
    """
    if start >= end:
        return
    if count(content[start:end]) <= limit:
        yield start
        return
    units = [(start, end)]
    while borders and len(units) == 1:
        ends = (found.end() for found in borders[0].finditer(content, start, end))
        cuts = sorted({start, *(one for one in ends if start < one < end), end})
        units, borders = list(pairwise(cuts)), borders[1:]
    if len(units) == 1:
        yield from _split_hard(content, start, end, count, limit)
        return
    at, size = start, 0
    for unit, stop in units:
        tokens = count(content[unit:stop])
        if size and size + tokens > limit:
            yield from packed(content, at, unit, borders, count, limit)
            at, size = unit, 0
        size += tokens
    yield from packed(content, at, end, borders, count, limit)


def _split_hard(
    content: str, start: int, end: int, count: TokenCounter, limit: int
) -> Iterator[int]:
    """Halve a single word (a key, a line of data) until it fits."""
    if end - start < 2 or count(content[start:end]) <= limit:
        yield start
        return
    middle = (start + end) // 2
    yield from _split_hard(content, start, middle, count, limit)
    yield from _split_hard(content, middle, end, count, limit)
