"""Reading PDF: the text of each page, without running heads and page numbers; its headings."""

import io
import logging
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from itertools import zip_longest
from pathlib import Path
from typing import Any, Final

from kds.brain.documents.content import Content, Heading, Part
from kds.brain.documents.heading import read_heading
from kds.brain.installation import load_extra
from kds.brain.patience import Patience
from kds.readers.error import DocumentError, foreign
from kds.readers.lines import Line
from kds.readers.pages import page_lines
from kds.readers.plain import parts_of, title_of
from kds.readers.type_size import Place, TypeSizes

MAX_PAGES: Final = 5000

MAX_SECONDS: Final = 120.0
"""A page of text takes 10 to 50 ms."""

_NUMBERED: Final = re.compile(r"\s*\(?\d{1,3}[.)]\s")
_TOP_HEADING: Final = re.compile(r"\d{1,2}\.?\s+[A-Z](?:[^\s.;:!?,]*\s){0,5}[^\s.;:!?,]*")


def read_pdf(data: bytes, name: str, path: Path) -> Content:
    """Read a PDF. Raises DocumentError when it cannot be, KdsError without the library."""
    pypdf = load_extra("pypdf", extra="docs", purpose="read PDF")
    with _quiet(), foreign(path, "is no PDF that can be read"):
        reader = pypdf.PdfReader(io.BytesIO(data), strict=False)
        _unlock(reader, path)
        sizes = TypeSizes()
        texts = list(_texts(reader, path, sizes))
        given = _title(reader)
    empty = sum(not text.strip() for text in texts)
    if empty == len(texts):
        raise DocumentError(
            path,
            "has no text layer: its pages are pictures",
            "run a text recognition over it first, such as ocrmypdf",
        )
    parts = tuple(_parts(page_lines(texts), sizes.levels()))
    notes = (f"{empty} of {len(texts)} pages have no text: pictures, or empty",) if empty else ()
    title = title_of(parts) or given or name
    return replace(Content(title, "pdf", parts), pages=len(texts), notes=notes)


def _parts(lines: Sequence[Line], levels: Mapping[Place, int]) -> Iterator[Part]:
    """Take lines apart into sections: by the size of type, and by what begins like a heading."""
    heads = list(_heads(lines, levels))
    yield from parts_of(lines[: heads[0].at if heads else len(lines)], loose=True)
    for head, following in zip_longest(heads, heads[1:]):
        end = following.at if following else len(lines)
        heading: Heading | None = read_heading(head.text, head.level, page=lines[head.at].page)
        for part in parts_of(lines[head.end : end], loose=True):
            if heading is not None and part.heading is not None:
                yield Part(heading, ())
            yield replace(part, heading=part.heading or heading)
            heading = None
        if heading is not None:
            yield Part(heading, ())


@dataclass(frozen=True, slots=True)
class _Head:
    """A heading: the lines that it stands on, and how deep it is."""

    at: int
    end: int
    level: int
    text: str


def _heads(lines: Sequence[Line], levels: Mapping[Place, int]) -> Iterator[_Head]:
    """The headings that are set larger than the text; a long one goes on on the next line.

    One with a plain number begins without that only at the top of a page: elsewhere
    "2. Maintenance" may be an item of a list.
    """
    at = 0
    while at < len(lines):
        level = _level(lines[at], levels)
        end = at + 1
        if level is not None:
            while end < len(lines) and _goes_on(lines[at], lines[end], levels):
                end += 1
            yield _Head(at, end, level, " ".join(line.text.strip() for line in lines[at:end]))
        elif _is_top_heading(lines, at):
            yield _Head(at, end, 1, lines[at].text.strip())
        at = end


def _goes_on(first: Line, line: Line, levels: Mapping[Place, int]) -> bool:
    level = _level(line, levels)
    return level is not None and level == _level(first, levels) and line.page == first.page


def _level(line: Line, levels: Mapping[Place, int]) -> int | None:
    return levels.get((line.page, " ".join(line.text.split())))


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


def _texts(reader: Any, path: Path, sizes: TypeSizes) -> Iterator[str]:
    if len(reader.pages) > MAX_PAGES:
        raise DocumentError(
            path, f"has more than {MAX_PAGES:,} pages", "split it into smaller files"
        )
    patience = Patience(MAX_SECONDS)
    for number, page in enumerate(reader.pages, start=1):
        if patience.is_over:
            raise DocumentError(
                path, f"takes longer than {MAX_SECONDS:g} s to read", "split it, or save it anew"
            )
        see, end = sizes.watch(number)
        yield page.extract_text(visitor_text=see) or ""
        end()


def _unlock(reader: Any, path: Path) -> None:
    """Open a file that only its editing is locked; one that asks for a password is refused."""
    if not reader.is_encrypted:
        return
    try:
        opened = bool(reader.decrypt(""))
    except Exception as error:  # a cipher whose library is not installed
        raise _locked(path) from error
    if not opened:
        raise _locked(path)


def _locked(path: Path) -> DocumentError:
    return DocumentError(path, "is encrypted", "save it without a password")


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
