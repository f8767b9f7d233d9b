"""DOCX: heading styles, paragraphs, lists, tables."""

import io
import re
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

from kds.brain.documents.values import Block, BlockKind, Content, Heading, read_heading
from kds.brain.installation import load_extra
from kds.readers.text import (
    JOINED,
    DocumentError,
    Line,
    Row,
    document_errors,
    find_heading,
    first_heading,
    marked_parts,
    row_blocks,
)

MAX_UNPACKED: Final = 512 * 2**20
"""Bytes of all parts together; pictures are packed already and do not grow."""

MAX_PART: Final = 128 * 2**20
"""Bytes of one part of text: XML takes ten times as much in memory."""

_PARAGRAPH: Final = "{http://schemas.openxmlformats.org/wordprocessingml/2006/main}p"
_PROPERTIES: Final = "/metadata/core-properties"
_OLE: Final = b"\xd0\xcf\x11\xe0"
"""The beginning of an encrypted DOCX, and of the old DOC."""

_Style = tuple[int | None, bool]
"""The level of a style ("Title" is 0, "Heading 2" 2, other text None), and whether it is a list."""


def read_docx(data: bytes, name: str, path: Path) -> Content:
    """Read a DOCX. Raises DocumentError when that fails, KdsError without the library."""
    library = load_extra("docx", extra="docs", purpose="read DOCX")
    _check(data, path)
    with document_errors(path, "DOCX that cannot be read"):
        document = library.Document(io.BytesIO(data))
        parts = marked_parts(_walk(document))
        relations = document.part.package.rels.values()
        # The library makes up a title where the document has none.
        has_title = any(one.reltype.endswith(_PROPERTIES) for one in relations)
        given = " ".join((document.core_properties.title or "").split()) if has_title else ""
    first = first_heading(parts)
    on_top = bool(parts) and parts[0].heading is not None and parts[0].heading.level == 0
    return Content(first if on_top else given or first or name, "docx", parts)


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


def _walk(document: Any) -> Iterator[Heading | Block]:
    styles: dict[str | None, _Style] = {}
    for one in document.paragraphs:
        if one._p.style not in styles:  # the library finds a style by going through all of them
            styles[one._p.style] = _read_style(one.style)
    styled = any(level is not None for level, _ in styles.values())
    for one in document.iter_inner_content():
        if hasattr(one, "rows"):
            yield from row_blocks(list(_rows(one)))
        elif text := one.text.strip():
            yield _paragraph(one, text, styles[one._p.style], styled=styled)


def _read_style(style: Any) -> _Style:
    is_list = style is not None and (style.name or "").startswith("List")
    seen: set[str | None] = set()
    while style is not None and style.style_id not in seen:  # styles may go in a circle
        seen.add(style.style_id)
        if found := re.fullmatch(r"title|heading ([1-9])", (style.name or "").casefold()):
            return int(found[1] or 0), is_list
        style = style.base_style
    return None, is_list


def _paragraph(one: Any, text: str, style: _Style, *, styled: bool) -> Heading | Block:
    level, is_list = style
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
    properties = one._p.pPr
    is_item = is_list or (properties is not None and properties.numPr is not None)
    kind: BlockKind = "item" if is_item else "paragraph"
    return Block(text, kind, term=" ".join(lead.split()), marked=tuple(marked))


def _rows(table: Any) -> Iterator[Row]:
    """Yield the rows of a table; a cell that covers columns or rows is read once.

    The library gives such a cell once for each column it says it covers, even a billion times.
    """
    for row in table._tbl.tr_lst:
        texts = (
            " ".join(one.text for one in cell.iter(_PARAGRAPH))  # of tables inside it, too
            for cell in row.tc_lst
            if cell.vMerge != "continue"
        )
        cells = tuple(" ".join(text.split()) for text in texts)
        if any(cells):
            yield Row(cells, JOINED.join(cells))
