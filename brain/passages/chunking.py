"""Cutting a message into parts that can be found and quoted by themselves.

A block of code is one part, whatever its length, and keeps its language. Prose is cut at
headings, and where it is longer than the limit between paragraphs, sentences, lines, words, in
this order. The parts, put together, are the message.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from kds.brain.passages.values import ChunkKind
from kds.brain.words.code_spans import CodeSpan, code_spans
from kds.brain.words.terms import TokenCounter, estimate_tokens, ident_words

CHUNK_TOKENS: Final = 500
"""The most a part of prose may have (issue 5)."""

_HEADING: Final = re.compile(
    r"^(?:[ ]{0,3}\#{1,6}[ \t]+(?P<marked>\S.*?)[ \t#]*|\*\*(?P<bold>[^*\n]{1,80})\*\*:?[ \t]*)$",
    re.MULTILINE,
)
Borders = Sequence[re.Pattern[str]]
"""What parts are cut at, the coarsest first."""

_BORDERS: Final = (
    re.compile(r"\n[ \t]*\n\s*"),
    re.compile(r"(?<=[.!?…])[\"')\]]*\s+|(?<=[。！？])"),
    re.compile(r"\n"),
    re.compile(r"\s+"),
)
"""Between paragraphs, sentences, lines, words: what may be cut when the part before is too big."""


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


@dataclass(frozen=True, slots=True)
class _Part:
    start: int
    header: str
    code: CodeSpan | None = None


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
    ends = [*(part.start for part in parts[1:]), len(content)]
    kept = [
        part for part, end in zip(parts, ends, strict=True) if content[part.start : end].strip()
    ]
    # What stands before white space takes it, or the first part.
    starts = [0, *(part.start for part in kept[1:])]
    found = []
    for part, start, end in zip(kept, starts, [*starts[1:], len(content)], strict=True):
        body, code = content[start:end], part.code
        kind: ChunkKind = "code" if code else "prose"
        idents = ident_words(body, code=code is not None)
        language = code.language if code else None
        found.append(Piece(kind, language, part.header, start, len(body), idents, count(body)))
    return tuple(found)


def _parts(content: str, count: TokenCounter, limit: int) -> Iterator[_Part]:
    at = 0
    heading = ""
    for span in (*code_spans(content), None):
        end = span.start if span else len(content)
        for start, stop, title in _sections(content, at, end, heading):
            heading = title
            for piece in packed(content, start, stop, _BORDERS, count, limit):
                yield _Part(piece, title)
        if span:
            yield _Part(span.start, span.header(content) or heading, span)
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
        units, borders = list(_units(content, start, end, borders[0])), borders[1:]
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


def _units(
    content: str, start: int, end: int, border: re.Pattern[str]
) -> Iterator[tuple[int, int]]:
    at = start
    for found in border.finditer(content, start, end):
        if at < found.end() < end:
            yield at, found.end()
            at = found.end()
    yield at, end


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
