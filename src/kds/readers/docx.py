"""Reading DOCX: heading styles, paragraphs, lists, tables."""

import io
import re
import zipfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from kds.brain.documents.content import Block, Content, Heading
from kds.brain.documents.heading import read_heading
from kds.brain.installation import load_extra
from kds.readers.drawn_heading import with_drawn_headings
from kds.readers.error import DocumentError, foreign
from kds.readers.lines import Line
from kds.readers.plain_heading import find_heading
from kds.readers.sections import in_sections
from kds.readers.tables import JOINED, Row, row_blocks

MAX_UNPACKED: Final = 512 * 2**20
"""Bytes of all parts together; pictures are packed already and do not grow."""

MAX_PART: Final = 128 * 2**20
"""Bytes of one part of text: XML takes ten times as much in memory."""

_PARAGRAPH: Final = "{http://schemas.openxmlformats.org/wordprocessingml/2006/main}p"

_OLE: Final = b"\xd0\xcf\x11\xe0"
"""The beginning of an encrypted DOCX, and of the DOC of old."""


def read_docx(data: bytes, name: str, path: Path) -> Content:
    """Read a DOCX. Raises DocumentError when it cannot be, KdsError without the library."""
    library = load_extra("docx", extra="docs", purpose="read DOCX")
    _check(data, path)
    with foreign(path, "is no DOCX that can be read"):
        document = library.Document(io.BytesIO(data))
        found = list(_walk(document))
        given = " ".join((document.core_properties.title or "").split())
    parts = tuple(with_drawn_headings(in_sections(found)))
    first = next((part.heading.text for part in parts if part.heading), "")
    top = first if parts and parts[0].heading and parts[0].heading.level == 0 else ""
    return Content(top or given or first or name, "docx", parts)


def _check(data: bytes, path: Path) -> None:
    if data.startswith(_OLE):
        raise DocumentError(
            path, "is encrypted, or a DOC of before 2007", "save it as DOCX without a password"
        )
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as packed:
            sizes = [part.file_size for part in packed.infolist()]
            texts = [part.file_size for part in packed.infolist() if part.filename.endswith(".xml")]
    except (zipfile.BadZipFile, ValueError, OSError) as error:
        raise DocumentError(path, "is no DOCX: not a ZIP file", "save it anew") from error
    if sum(sizes) > MAX_UNPACKED or max(texts, default=0) > MAX_PART:
        size = max(sum(sizes), max(texts, default=0)) // 2**20
        raise DocumentError(path, f"unpacks to {size:,} MB", "do not trust it, or split it")


@dataclass
class _Styles:
    """What the styles of a document make of a paragraph; each style is looked at once.

    The library looks for a style by going through all of them.
    """

    _by_id: dict[str | None, Any] = field(default_factory=dict)
    _levels: dict[str | None, int | None] = field(default_factory=dict)

    def level(self, one: Any) -> int | None:
        """Return the level of a heading style: "Title" is 0, "Heading 2" 2; None: it is none."""
        key = one._p.style
        if key not in self._levels:
            self._levels[key] = _style_level(self._style(one))
        return self._levels[key]

    def is_item(self, one: Any) -> bool:
        """Tell whether the style is one of lists."""
        style = self._style(one)
        return style is not None and (style.name or "").startswith("List")

    def _style(self, one: Any) -> Any:
        key = one._p.style
        if key not in self._by_id:
            self._by_id[key] = one.style
        return self._by_id[key]


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
    runs = [(run.text, bool(run._r.rPr is not None and run.bold)) for run in one.runs]
    bold = tuple(" ".join(said.split()) for said, is_bold in runs if is_bold and said.strip())
    is_item = styles.is_item(one) or _is_numbered(one)
    return Block(text, "item" if is_item else "paragraph", term=_lead(runs), marked=bold)


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


def _is_numbered(one: Any) -> bool:
    properties = one._p.pPr
    return properties is not None and properties.numPr is not None


def _lead(runs: Sequence[tuple[str, bool]]) -> str:
    """Return the words in bold that a paragraph begins with."""
    lead = ""
    for text, is_bold in runs:
        if text.strip() and not is_bold:
            break
        lead += text
    return " ".join(lead.split())


def _table(table: Any) -> Iterator[Block]:
    rows = []
    for row in table._tbl.tr_lst:
        cells = tuple(" ".join(_cell_text(cell).split()) for cell in _cells(row))
        if any(cells):
            rows.append(Row(cells, JOINED.join(cells)))
    yield from row_blocks(rows)


def _cells(row: Any) -> Iterator[Any]:
    """Yield the cells as the file has them; one that covers columns or rows is there once.

    The library gives such a cell once for each column it says it covers, were it a billion.
    """
    for cell in row.tc_lst:
        if cell.vMerge != "continue":
            yield cell


def _cell_text(cell: Any) -> str:
    """Return the text of a cell, with that of tables inside it."""
    return "\n".join(one.text for one in cell.iter(_PARAGRAPH))
