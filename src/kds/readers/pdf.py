"""PDF: the text of its pages, without running heads and page numbers; headings; paragraphs.

A PDF has lines where they were set, and neither headings nor paragraphs. A line that is set larger
than the text is a heading, and so is one that begins like a heading. A line that ends a sentence
and is shorter than the others ends a paragraph; a word that was divided at the end of a line is
put together again.
"""

import io
import logging
import math
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from kds.brain.documents.values import Block, Content, Heading, read_heading
from kds.brain.installation import load_extra
from kds.brain.timeouts import Deadline
from kds.readers.text import (
    ENDED,
    ITEM,
    DocumentError,
    Line,
    document_errors,
    find_heading,
    headings_and_blocks,
    in_sections,
    is_led,
    title_of,
)

MAX_SECONDS: Final = 120.0
"""A page of text takes 10 to 50 ms."""

LARGER: Final = 1.15
"""A heading's size, as a multiple of that of the text: 11.5 to 10 points is the least that is
set to be seen."""

SAME: Final = 0.03
"""Sizes this near to each other are one: matrices are rounded in files."""

MOST_CHARS: Final = 120
MOST_SHARE: Final = 0.3
"""Of a heading, and of all characters that may be in headings: with more, large type is how the
document is set."""

DEEPEST: Final = 4

MARGIN_LINES: Final = 3
REPEATED: Final = 0.4
"""Lines at the top and bottom of a page that may be running heads, and the share of the pages on
which one stands: left and right pages differ."""

SHORT_LINE: Final = 0.85
"""Of the width of a page: what ends before that need not have ended there."""

_Sized = tuple[str, float]
"""A text with single spaces, and the size of its type."""

_DIGITS: Final = re.compile(r"\d+")
_PAGE_NUMBER: Final = re.compile(
    r"\W*(?:page\s+)?(?:\d{1,4}|[ivxlc]{1,7}|[A-Z]-\d{1,3})(?:\s*(?:of|/)\s*\d{1,4})?\W*",
    re.IGNORECASE,
)
_DIVIDED: Final = re.compile(r"[^\W\d_]{2}[-\u00ad\u2010]$")


def read_pdf(data: bytes, name: str, path: Path) -> Content:
    """Read a PDF. Raises DocumentError when that fails, KdsError without the library."""
    pypdf = load_extra("pypdf", extra="docs", purpose="read PDF")
    logging.getLogger("pypdf").setLevel(logging.CRITICAL)  # its remarks about the file
    with document_errors(path, "PDF that cannot be read"):
        reader = pypdf.PdfReader(io.BytesIO(data), strict=False)
        _unlock(reader, path)
        pages = list(_pages(reader, path))
        given = _title(reader)
    empty = sum(not text.strip() for text, _ in pages)
    if empty == len(pages):
        raise DocumentError(
            path,
            "has no text layer: its pages are pictures",
            "run text recognition over it first, such as ocrmypdf",
        )
    lines = page_lines([text for text, _ in pages])
    parts = tuple(in_sections(_found(lines, _levels([sized for _, sized in pages]))))
    notes = (f"{empty} of {len(pages)} pages have no text: pictures, or empty",) if empty else ()
    return Content(title_of(parts) or given or name, "pdf", parts, pages=len(pages), notes=notes)


def _pages(reader: Any, path: Path) -> Iterator[tuple[str, list[_Sized]]]:
    """Yield the text of each page, and its lines with the size of their type."""
    deadline = Deadline(MAX_SECONDS)
    pieces: list[_Sized] = []

    def see(text: str, cm: Sequence[float], tm: Sequence[float], _: Any, size: float) -> None:
        scale = math.hypot(*tm[2:4]) * math.hypot(*cm[2:4])
        pieces.append((text, round(abs(size) * scale, 2)))

    for page in reader.pages:
        if deadline.is_over:
            raise DocumentError(
                path, f"takes longer than {MAX_SECONDS:g} s to read", "split it, or save it again"
            )
        text = page.extract_text(visitor_text=see) or ""
        yield text, list(_sized_lines(pieces))
        pieces.clear()


def _sized_lines(pieces: Iterable[_Sized]) -> Iterator[_Sized]:
    said, sizes = "", Counter[float]()
    for text, size in (*pieces, ("\n", 0.0)):
        for number, piece in enumerate(text.split("\n")):
            if number:
                if line := " ".join(said.split()):
                    yield line, sizes.most_common(1)[0][0]
                said = ""
                sizes.clear()
            if piece.strip():
                sizes[size] += len(piece)
            said += piece


def _unlock(reader: Any, path: Path) -> None:
    """Open a file that may be read but not edited; one that needs a password is refused."""
    cause: Exception | None = None
    try:
        if not reader.is_encrypted or reader.decrypt(""):
            return
    except Exception as error:  # noqa: BLE001  # a cipher whose library is not installed
        cause = error
    raise DocumentError(path, "is encrypted", "save it without a password") from cause


def _title(reader: Any) -> str:
    """Return the title that the file gives itself, unless it is a file's name or a placeholder."""
    said = " ".join(str((reader.metadata or {}).get("/Title") or "").split())
    named = "." in said[-6:] or said.casefold().startswith(("untitled", "microsoft word"))
    return "" if named or re.fullmatch(r"\(.*\)", said) else said  # "(anonymous)"


def _levels(pages: Sequence[Sequence[_Sized]]) -> Mapping[tuple[int | None, str], int]:
    """Return the lines of pages (from 1) that are set as headings, each with its level, from 1."""
    chars: Counter[float] = Counter()
    for text, size in (line for page in pages for line in page):
        chars[size] += len(text)
    body = max(chars, key=lambda size: chars[size], default=0.0)
    large = {
        (number, text): size
        for number, page in enumerate(pages, start=1)
        for text, size in page
        if size >= body * LARGER and len(text) <= MOST_CHARS and any(map(str.isalpha, text))
    }
    if sum(len(text) for _, text in large) > MOST_SHARE * chars.total():
        return {}
    ranks: dict[float, int] = {}
    level, last = 0, math.inf
    for size in sorted(set(large.values()), reverse=True):
        if size < last * (1 - SAME):
            level, last = min(level + 1, DEEPEST), size
        ranks[size] = level
    return {place: ranks[size] for place, size in large.items()}


def _found(
    lines: Sequence[Line], levels: Mapping[tuple[int | None, str], int]
) -> Iterator[Heading | Block]:
    """Divide lines by the size of type, and by lines that begin like a heading."""
    set_as = [levels.get((line.page, " ".join(line.text.split()))) for line in lines]
    start = at = 0
    while at < len(lines):
        level, end = set_as[at], at + 1
        if level is not None:
            while end < len(lines) and (set_as[end], lines[end].page) == (level, lines[at].page):
                end += 1
        if level is not None:
            yield from headings_and_blocks(lines[start:at], loose=True)
            text = " ".join(line.text.strip() for line in lines[at:end])
            yield read_heading(text, level, page=lines[at].page)
            start = end
        at = end
    yield from headings_and_blocks(lines[start:], loose=True)


def page_lines(texts: Sequence[str]) -> list[Line]:
    """Return the lines of pages, with blank ones between paragraphs."""
    pages = [[line.rstrip() for line in text.split("\n")] for text in texts]
    running = _running(pages)
    lines: list[Line] = []
    for number, page in enumerate(pages, start=1):
        kept = _without_head(_without_head(page, running)[::-1], running)[::-1]
        lines += (Line(text.expandtabs(4), None, number) for text in kept)
    found = _undivided(_joined_pages(lines))
    widths = sorted(len(line.text) for line in found if not line.blank)
    width = widths[int(len(widths) * 0.9)] if widths else 0
    separated: list[Line] = []
    for at, line in enumerate(found):
        if at and not line.blank and not found[at - 1].blank and _begins(found, at, width):
            separated.append(Line("", None, line.page))
        separated.append(line)
    return separated


def _running(pages: Sequence[Sequence[str]]) -> frozenset[str]:
    """Return the lines, digits aside, that stand at the edge of many pages."""
    counts: Counter[str] = Counter()
    for page in pages:
        filled = [line for line in page if line.strip()]
        edges = filled[:MARGIN_LINES] + filled[max(len(filled) - MARGIN_LINES, MARGIN_LINES) :]
        counts.update({_shape(line) for line in edges})
    needed = max(2, math.ceil(len(pages) * REPEATED))
    return frozenset(shape for shape, count in counts.items() if count >= needed)


def _shape(line: str) -> str:
    return _DIGITS.sub("#", " ".join(line.split()))


def _without_head(lines: Sequence[str], running: frozenset[str]) -> Sequence[str]:
    margin = 0
    for at, line in enumerate(lines):
        if not line.strip():
            continue
        is_head = _PAGE_NUMBER.fullmatch(line.strip()) or _shape(line) in running
        if not is_head or margin == MARGIN_LINES:
            return lines[at:]
        margin += 1
    return ()


def _joined_pages(lines: Iterable[Line]) -> Iterator[Line]:
    """Drop blank lines inside sentences: where pages meet, and where a column was set."""
    before = gap = None
    for line in lines:
        if line.blank:
            gap = line
            continue
        text = line.text.strip()
        if gap and before:
            begun = not ENDED.search(before.text) and text[:1].islower()
            if not begun or ITEM.match(text):
                yield gap
        yield line
        before, gap = line, None


def _undivided(lines: Iterable[Line]) -> list[Line]:
    """Put words together that were divided at the end of a line."""
    kept: list[Line] = []
    for line in lines:
        before = kept[-1] if kept else Line("")
        first, _, rest = line.text.strip().partition(" ")
        if _DIVIDED.search(before.text.rstrip()) and first[:1].islower():
            kept[-1] = Line(before.text.rstrip()[:-1] + first, None, before.page)
            line = Line(rest, None, line.page)
        kept.append(line)
    return kept


def _begins(lines: Sequence[Line], at: int, width: int) -> bool:
    """Tell whether a line begins a paragraph or a heading, or follows one."""
    line, before = lines[at], lines[at - 1]
    ended = bool(ENDED.search(before.text))
    short = len(before.text) < SHORT_LINE * width
    if ended and short:
        return True
    if (ended or short) and (ITEM.match(line.text) or find_heading(lines, at, loose=True)):
        return True
    if short and find_heading(lines, at - 1, loose=True) is not None:
        return True
    return ended and is_led(line)
