"""DOCX: heading styles, paragraphs, lists, tables."""

import io
import re
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

from kds.brain.documents.content import Block, BlockKind, Content, Heading, read_heading
from kds.brain.installation import load_extra
from kds.readers.sections import (
    JOINED,
    DocumentError,
    Row,
    document_errors,
    first_heading,
    in_sections,
    row_blocks,
)
from kds.readers.text import Line, find_heading, with_drawn_headings

MAX_UNPACKED: Final = 512 * 2**20
"""Bytes of all parts together; pictures are packed already and do not grow."""

MAX_PART: Final = 128 * 2**20
"""Bytes of one part of text: XML takes ten times as much in memory."""

_PARAGRAPH: Final = "{http://schemas.openxmlformats.org/wordprocessingml/2006/main}p"

_PROPERTIES: Final = "/metadata/core-properties"
"""The end of the kind of relation that leads to them."""

_OLE: Final = b"\xd0\xcf\x11\xe0"
"""The beginning of an encrypted DOCX, and of the old DOC."""


def read_docx(data: bytes, name: str, path: Path) -> Content:
    """Read a DOCX. Raises DocumentError when that fails, KdsError without the library."""
    library = load_extra("docx", extra="docs", purpose="read DOCX")
    _check(data, path)
    with document_errors(path, "DOCX that cannot be read"):
        document = library.Document(io.BytesIO(data))
        found = list(_walk(document))
        given = _given_title(document)
    parts = tuple(with_drawn_headings(in_sections(found)))
    first = first_heading(parts)
    has_title = bool(parts) and parts[0].heading is not None and parts[0].heading.level == 0
    return Content(first if has_title else given or first or name, "docx", parts)


def _check(data: bytes, path: Path) -> None:
    if data.startswith(_OLE):
        raise DocumentError(
            path, "is encrypted, or a DOC of before 2007", "save it as DOCX without a password"
        )
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as packed:
            sizes = {part.filename: part.file_size for part in packed.infolist()}
    except (zipfile.BadZipFile, ValueError, OSError) as error:
        raise DocumentError(path, "not a DOCX: it is not a ZIP file", "save it again") from error
    largest = max((size for part, size in sizes.items() if part.endswith(".xml")), default=0)
    if sum(sizes.values()) > MAX_UNPACKED or largest > MAX_PART:
        size = max(sum(sizes.values()), largest) // 2**20
        raise DocumentError(path, f"unpacks to {size:,} MB", "do not trust it, or split it")


def _given_title(document: Any) -> str:
    """Return the title that a document gives itself; the library makes one up where it has none."""
    if not any(rel.reltype.endswith(_PROPERTIES) for rel in document.part.package.rels.values()):
        return ""
    return " ".join((document.core_properties.title or "").split())


class _Styles:
    """What the styles of a document make of a paragraph.

    Each is looked at once: the library finds a style by going through all of them.
    """

    def __init__(self) -> None:
        self._known: dict[str | None, tuple[int | None, bool]] = {}

    def level(self, one: Any) -> int | None:
        """Return the level of a heading: "Title" is 0, "Heading 2" 2; None for other text."""
        return self._look(one)[0]

    def is_item(self, one: Any) -> bool:
        """Tell whether a paragraph is an item of a list."""
        properties = one._p.pPr
        numbered = properties is not None and properties.numPr is not None
        return numbered or self._look(one)[1]

    def _look(self, one: Any) -> tuple[int | None, bool]:
        key = one._p.style
        if key not in self._known:
            style = one.style
            is_item = style is not None and (style.name or "").startswith("List")
            self._known[key] = (_style_level(style), is_item)
        return self._known[key]


def _style_level(style: Any) -> int | None:
    """Return the level of a style or of what it is based on; styles may go in a circle."""
    seen: set[str | None] = set()
    while style is not None and style.style_id not in seen:
        seen.add(style.style_id)
        name = (style.name or "").casefold()
        if name == "title":
            return 0
        if re.fullmatch(r"heading [1-9]", name):
            return int(name[8:])
        style = style.base_style
    return None


def _walk(document: Any) -> Iterator[Heading | Block]:
    styles = _Styles()
    styled = any(styles.level(one) is not None for one in document.paragraphs)
    for one in document.iter_inner_content():
        if hasattr(one, "rows"):
            yield from _table(one)
        elif text := one.text.strip():
            yield _paragraph(one, text, styles, styled=styled)


def _paragraph(one: Any, text: str, styles: _Styles, *, styled: bool) -> Heading | Block:
    level = styles.level(one)
    if level is not None:
        return read_heading(text, level)
    if not styled and (found := find_heading([Line(text)], 0)) is not None and not found.rest:
        return found.heading
    lead, before_text, marked = "", True, list[str]()
    for run in one.runs:
        words = " ".join(run.text.split())
        is_bold = run._r.rPr is not None and bool(run.bold)
        if is_bold and words:
            marked.append(words)
        before_text = before_text and (is_bold or not words)
        lead += run.text if before_text else ""
    kind: BlockKind = "item" if styles.is_item(one) else "paragraph"
    return Block(text, kind, term=" ".join(lead.split()), marked=tuple(marked))


def _table(table: Any) -> Iterator[Block]:
    """Yield the rows of a table; a cell that covers columns or rows is read once.

    The library gives such a cell once for each column it says it covers, even a billion times.
    """
    rows = []
    for row in table._tbl.tr_lst:
        texts = (_text(cell) for cell in row.tc_lst if cell.vMerge != "continue")
        cells = tuple(texts)
        if any(cells):
            rows.append(Row(cells, JOINED.join(cells)))
    yield from row_blocks(rows)


def _text(cell: Any) -> str:
    """Return the text of a cell, with that of tables inside it."""
    return " ".join(" ".join(one.text for one in cell.iter(_PARAGRAPH)).split())
