"""Pages of text put together: running heads and page numbers dropped, paragraphs told apart.

A PDF has lines where they were set, and no paragraphs. A line that ends a sentence and is
shorter than the others ends a paragraph; a word that was divided at the end of a line is whole
again.
"""

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Final

from kds.brain.documents.content import Block
from kds.brain.documents.definition import leading
from kds.readers.lines import Line
from kds.readers.plain_heading import find_heading

MARGIN_LINES: Final = 3
"""Lines at the top and at the bottom of a page that may be running heads."""

REPEATED: Final = 0.4
"""A line that so large a share of the pages have there is one: left and right pages differ."""

SHORT_LINE: Final = 0.85
"""Of the width of a page: what ends before that need not have ended there."""

_DIGITS: Final = re.compile(r"\d+")
_PAGE_NUMBER: Final = re.compile(
    r"\W*(?:page\s+)?(?:\d{1,4}|[ivxlc]{1,7}|[A-Z]-\d{1,3})(?:\s*(?:of|/)\s*\d{1,4})?\W*",
    re.IGNORECASE,
)
_DIVIDED: Final = re.compile(r"[^\W\d_]{2}[-\u00ad\u2010]$")
_ENDED: Final = re.compile(r"[.!?:;][\"”’')\]]*$")
_ITEM: Final = re.compile(r"\s*(?:[-*+•·‣▪]\s+|\(?(?:\d{1,3}|[a-z]|[ivx]{1,5})[.)]\s+)\S")


def page_lines(texts: Sequence[str]) -> list[Line]:
    """Return the lines of pages, with blank ones between paragraphs."""
    pages = [[line.rstrip() for line in text.split("\n")] for text in texts]
    running = _running(pages)
    lines: list[Line] = []
    for number, page in enumerate(pages, start=1):
        kept = _without_margins(page, running)
        lines += (Line(text.expandtabs(4), None, number) for text in kept)
    return list(_parted(_undivided(_joined_pages(lines))))


def _running(pages: Sequence[Sequence[str]]) -> frozenset[str]:
    """Return the lines, digits aside, that stand at the edge of many pages."""
    counts: Counter[str] = Counter()
    for page in pages:
        filled = [line for line in page if line.strip()]
        edges = filled[:MARGIN_LINES] + filled[max(len(filled) - MARGIN_LINES, MARGIN_LINES) :]
        counts.update({_shape(line) for line in edges})
    needed = max(2, -(-len(pages) * REPEATED // 1))
    return frozenset(shape for shape, count in counts.items() if count >= needed and shape)


def _shape(line: str) -> str:
    return _DIGITS.sub("#", " ".join(line.split()))


def _without_margins(page: Sequence[str], running: frozenset[str]) -> Sequence[str]:
    upright = _without_head(page, running)
    return _without_head(upright[::-1], running)[::-1]


def _without_head(lines: Sequence[str], running: frozenset[str]) -> Sequence[str]:
    at = 0
    for _ in range(MARGIN_LINES):
        at = _first_filled(lines, at)
        if at == len(lines) or not _is_margin(lines[at], running):
            break
        at += 1
    return lines[at:]


def _first_filled(lines: Sequence[str], at: int) -> int:
    while at < len(lines) and not lines[at].strip():
        at += 1
    return at


def _is_margin(line: str, running: frozenset[str]) -> bool:
    return bool(_PAGE_NUMBER.fullmatch(line.strip())) or _shape(line) in running


def _joined_pages(lines: Sequence[Line]) -> Iterator[Line]:
    """Drop blank lines inside sentences: where pages meet, and where a column was set."""
    before: Line | None = None
    gap: Line | None = None
    for line in lines:
        if line.blank:
            gap = line
            continue
        if gap is not None and before is not None and not _goes_on(before, line):
            yield gap
        yield line
        before, gap = line, None


def _goes_on(before: Line, line: Line) -> bool:
    text = line.text.strip()
    return not _ENDED.search(before.text) and text[:1].islower() and not _ITEM.match(text)


def _undivided(lines: Iterator[Line]) -> Iterator[Line]:
    """Put words together that were divided at the end of a line."""
    held: Line | None = None
    for line in lines:
        if held is not None:
            first, _, rest = line.text.strip().partition(" ")
            if first[:1].islower():
                yield Line(held.text.rstrip()[:-1] + first, None, held.page)
                line = Line(rest, None, line.page)
            else:
                yield held
            held = None
        if _DIVIDED.search(line.text.rstrip()):
            held = line
        elif line.text or line.blank:
            yield line
    if held is not None:
        yield held


def _parted(lines: Iterator[Line]) -> Iterator[Line]:
    """Put blank lines between paragraphs, and around headings."""
    found = list(lines)
    widths = sorted(len(line.text) for line in found if not line.blank)
    width = widths[int(len(widths) * 0.9)] if widths else 0
    for at, line in enumerate(found):
        if at and not line.blank and not found[at - 1].blank and _begins(found, at, width):
            yield Line("", None, line.page)
        yield line


def _begins(lines: Sequence[Line], at: int, width: int) -> bool:
    line, before = lines[at], lines[at - 1]
    ended = bool(_ENDED.search(before.text))
    short = len(before.text) < SHORT_LINE * width
    if ended and short:
        return True
    if (ended or short) and (_ITEM.match(line.text) or find_heading(lines, at, loose=True)):
        return True
    if find_heading(lines, at - 1, loose=True) is not None and short:
        return True
    led = leading(Block(line.text.strip())) if ended else None
    return led is not None and led.strength >= 0.9
