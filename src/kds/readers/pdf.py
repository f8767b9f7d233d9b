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
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from itertools import zip_longest
from pathlib import Path
from typing import Any, Final

from kds.brain.documents.content import Content, Heading, Part, read_heading
from kds.brain.installation import load_extra
from kds.brain.timeouts import Deadline
from kds.readers.sections import DocumentError, document_errors
from kds.readers.text import ENDED, ITEM, Line, find_heading, is_led, parts_of, title_of

MAX_PAGES: Final = 5000

MAX_SECONDS: Final = 120.0
"""A page of text takes 10 to 50 ms."""

LARGER: Final = 1.15
"""A heading's size, as a multiple of that of the text: 11.5 to 10 points is the least that is
set to be seen."""

SAME: Final = 0.03
"""Sizes this near to each other are one: matrices are rounded in files."""

MOST_CHARS: Final = 120
MOST_SHARE: Final = 0.3
"""Of all characters that may be in headings; more, and large type is how the document is set."""

DEEPEST: Final = 4

MARGIN_LINES: Final = 3
"""Lines at the top and at the bottom of a page that may be running heads."""

REPEATED: Final = 0.4
"""A running head stands on so large a share of the pages: left and right pages differ."""

SHORT_LINE: Final = 0.85
"""Of the width of a page: what ends before that need not have ended there."""

Place = tuple[int | None, str]
"""A page (from 1) and what a line of it says, with single spaces."""

_DIGITS: Final = re.compile(r"\d+")
_PAGE_NUMBER: Final = re.compile(
    r"\W*(?:page\s+)?(?:\d{1,4}|[ivxlc]{1,7}|[A-Z]-\d{1,3})(?:\s*(?:of|/)\s*\d{1,4})?\W*",
    re.IGNORECASE,
)
_DIVIDED: Final = re.compile(r"[^\W\d_]{2}[-\u00ad\u2010]$")
_NUMBERED: Final = re.compile(r"\s*\(?\d{1,3}[.)]\s")
_TOP_HEADING: Final = re.compile(r"\d{1,2}\.?\s+[A-Z](?:[^\s.;:!?,]*\s){0,5}[^\s.;:!?,]*")


def read_pdf(data: bytes, name: str, path: Path) -> Content:
    """Read a PDF. Raises DocumentError when that fails, KdsError without the library."""
    pypdf = load_extra("pypdf", extra="docs", purpose="read PDF")
    sizes = _TypeSizes()
    with _quiet(), document_errors(path, "PDF that cannot be read"):
        reader = pypdf.PdfReader(io.BytesIO(data), strict=False)
        _unlock(reader, path)
        texts = list(_texts(reader, path, sizes))
        given = _title(reader)
    empty = sum(not text.strip() for text in texts)
    if empty == len(texts):
        raise DocumentError(
            path,
            "has no text layer: its pages are pictures",
            "run text recognition over it first, such as ocrmypdf",
        )
    parts = tuple(_parts(page_lines(texts), sizes.levels()))
    notes = (f"{empty} of {len(texts)} pages have no text: pictures, or empty",) if empty else ()
    return Content(title_of(parts) or given or name, "pdf", parts, pages=len(texts), notes=notes)


def _texts(reader: Any, path: Path, sizes: "_TypeSizes") -> Iterator[str]:
    if len(reader.pages) > MAX_PAGES:
        raise DocumentError(
            path, f"has more than {MAX_PAGES:,} pages", "split it into smaller files"
        )
    deadline = Deadline(MAX_SECONDS)
    for number, page in enumerate(reader.pages, start=1):
        if deadline.is_over:
            raise DocumentError(
                path, f"takes longer than {MAX_SECONDS:g} s to read", "split it, or save it again"
            )
        see, end = sizes.watch(number)
        yield page.extract_text(visitor_text=see) or ""
        end()


def _unlock(reader: Any, path: Path) -> None:
    """Open a file that may be read but not edited; one that needs a password is refused."""
    try:
        opened = not reader.is_encrypted or bool(reader.decrypt(""))
    except Exception as error:  # a cipher whose library is not installed
        raise DocumentError(path, "is encrypted", "save it without a password") from error
    if not opened:
        raise DocumentError(path, "is encrypted", "save it without a password")


def _title(reader: Any) -> str:
    """Return the title that the file gives itself, unless it is a file's name or a placeholder."""
    said = " ".join(str((reader.metadata or {}).get("/Title") or "").split())
    named = "." in said[-6:] or said.casefold().startswith(("untitled", "microsoft word"))
    placeholder = said.startswith("(") and said.endswith(")")  # "(anonymous)", "(unspecified)"
    return "" if named or placeholder else said


@contextmanager
def _quiet() -> Iterator[None]:
    """Keep the library's remarks about the file off the terminal."""
    logger = logging.getLogger("pypdf")
    before = logger.level
    logger.setLevel(logging.CRITICAL)
    try:
        yield
    finally:
        logger.setLevel(before)


class _TypeSizes:
    """Sees the texts of pages as they are read, and then tells which lines are headings."""

    def __init__(self) -> None:
        self._lines: list[tuple[Place, float]] = []
        self._chars: Counter[float] = Counter()

    def watch(self, page: int) -> tuple[Callable[..., None], Callable[[], None]]:
        """Return a visitor of a page's texts (pypdf's ``visitor_text``), and what ends the page."""
        said: list[str] = []
        sizes: Counter[float] = Counter()

        def end_line() -> None:
            if text := " ".join("".join(said).split()):
                [(size, _)] = sizes.most_common(1)
                self._lines.append(((page, text), size))
                self._chars[size] += len(text)
            said.clear()
            sizes.clear()

        def see(text: str, cm: Sequence[float], tm: Sequence[float], _: Any, size: float) -> None:
            effective = round(abs(size) * _scale(tm) * _scale(cm), 2)
            for number, piece in enumerate(text.split("\n")):
                if number:
                    end_line()
                if piece.strip():
                    sizes[effective] += len(piece)
                said.append(piece)

        return see, end_line

    def levels(self) -> Mapping[Place, int]:
        """Return the lines that are set as headings, each with its level, from 1."""
        body = max(self._chars, key=lambda size: self._chars[size], default=0.0)
        large = {
            place: size
            for place, size in self._lines
            if size >= body * LARGER
            and len(place[1]) <= MOST_CHARS
            and any(letter.isalpha() for letter in place[1])
        }
        if sum(len(text) for _, text in large) > MOST_SHARE * self._chars.total():
            return {}
        ranks = _ranks(set(large.values()))
        return {place: ranks[size] for place, size in large.items()}


def _ranks(sizes: set[float]) -> dict[float, int]:
    """Return the level of each size; those that are nearly the same share one.

    >>> _ranks({24.0, 23.9, 16.0, 12.0})
    {24.0: 1, 23.9: 1, 16.0: 2, 12.0: 3}
    """
    ranks: dict[float, int] = {}
    level, last = 0, math.inf
    for size in sorted(sizes, reverse=True):
        if size < last * (1 - SAME):
            level, last = min(level + 1, DEEPEST), size
        ranks[size] = level
    return ranks


def _scale(matrix: Sequence[float]) -> float:
    """Return how much taller a matrix of a PDF makes what it is applied to."""
    return math.hypot(matrix[2], matrix[3])


def _parts(lines: Sequence[Line], levels: Mapping[Place, int]) -> Iterator[Part]:
    """Divide lines into sections: by the size of type, and by lines that begin like a heading."""
    heads = list(_heads(lines, levels))
    yield from parts_of(lines[: heads[0][0] if heads else len(lines)], loose=True)
    for (_, end, head), following in zip_longest(heads, heads[1:]):
        heading: Heading | None = head
        for part in parts_of(lines[end : following[0] if following else len(lines)], loose=True):
            if heading is not None and part.heading is not None:
                yield Part(heading, ())
            yield replace(part, heading=part.heading or heading)
            heading = None
        if heading is not None:
            yield Part(heading, ())


def _heads(
    lines: Sequence[Line], levels: Mapping[Place, int]
) -> Iterator[tuple[int, int, Heading]]:
    """Yield the headings that are set larger than the text, with the lines that they stand on.

    One with a plain number begins without that only at the top of a page: elsewhere
    "2. Maintenance" may be an item of a list.
    """
    set_as = [levels.get((line.page, " ".join(line.text.split()))) for line in lines]
    at = 0
    while at < len(lines):
        level = set_as[at]
        end = at + 1
        if level is not None:
            while end < len(lines) and (set_as[end], lines[end].page) == (level, lines[at].page):
                end += 1
        elif _is_top_heading(lines, at):
            level = 1
        if level is not None:
            text = " ".join(line.text.strip() for line in lines[at:end])
            yield at, end, read_heading(text, level, page=lines[at].page)
        at = end


def _is_top_heading(lines: Sequence[Line], at: int) -> bool:
    """Tell whether a page begins with "2. Maintenance", and text and no further item follows."""
    line = lines[at]
    if _TOP_HEADING.fullmatch(line.text.strip()) is None:
        return False
    before = next((one for one in reversed(lines[max(at - 3, 0) : at]) if not one.blank), None)
    if before is not None and (before.page == line.page or _NUMBERED.match(before.text)):
        return False
    after = next((one for one in lines[at + 1 : at + 4] if not one.blank), None)
    return after is not None and bool(re.match(r"\s*[A-Z\"“(]", after.text))


def page_lines(texts: Sequence[str]) -> list[Line]:
    """Return the lines of pages, with blank ones between paragraphs."""
    pages = [[line.rstrip() for line in text.split("\n")] for text in texts]
    running = _running(pages)
    lines: list[Line] = []
    for number, page in enumerate(pages, start=1):
        kept = _without_head(_without_head(page, running)[::-1], running)[::-1]
        lines += (Line(text.expandtabs(4), None, number) for text in kept)
    return list(_separated(_undivided(_joined_pages(lines))))


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
    return not ENDED.search(before.text) and text[:1].islower() and not ITEM.match(text)


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


def _separated(lines: Iterator[Line]) -> Iterator[Line]:
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
    ended = bool(ENDED.search(before.text))
    short = len(before.text) < SHORT_LINE * width
    if ended and short:
        return True
    if (ended or short) and (ITEM.match(line.text) or find_heading(lines, at, loose=True)):
        return True
    if short and find_heading(lines, at - 1, loose=True) is not None:
        return True
    return ended and is_led(line)
