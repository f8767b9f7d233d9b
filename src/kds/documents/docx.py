"""Reading DOCX: heading styles, paragraphs, lists, tables."""

import io
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

from kds.brain.documents.content import Block, Content, Heading, Part
from kds.brain.documents.heading import read_heading
from kds.brain.errors import KdsError
from kds.brain.extras import load_extra
from kds.documents.drawn_heading import with_drawn_headings
from kds.documents.error import DocumentError
from kds.documents.lines import Line
from kds.documents.plain_heading import find_heading
from kds.documents.tables import JOINED, Row, row_blocks

MAX_UNPACKED: Final = 512 * 2**20
"""Bytes of all parts together; pictures are packed already and do not grow."""

MAX_PART: Final = 128 * 2**20
"""Bytes of one part of text: XML takes ten times as much in memory."""

_OLE: Final = b"\xd0\xcf\x11\xe0"
"""The beginning of an encrypted DOCX, and of the DOC of old."""


def read_docx(data: bytes, name: str, path: Path) -> Content:
    """Read a DOCX. Raises DocumentError when it cannot be, KdsError without the library."""
    library = load_extra("docx", extra="docs", purpose="read DOCX")
    _check(data, path)
    try:
        document = library.Document(io.BytesIO(data))
        found = list(_walk(document))
        given = " ".join((document.core_properties.title or "").split())
    except KdsError:
        raise
    except Exception as error:  # foreign code over a file of anybody's
        said = " ".join(f"{type(error).__name__}: {error}".split())[:200]
        raise DocumentError(
            path, f"is no DOCX that can be read ({said})", "save it anew"
        ) from error
    parts = tuple(with_drawn_headings(_parts(found)))
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


def _parts(found: list[Heading | Block]) -> Iterator[Part]:
    heading: Heading | None = None
    blocks: list[Block] = []
    for one in found:
        if isinstance(one, Block):
            blocks.append(one)
            continue
        if heading or blocks:
            yield Part(heading, tuple(blocks))
        heading, blocks = one, []
    if heading or blocks:
        yield Part(heading, tuple(blocks))


def _walk(document: Any) -> Iterator[Heading | Block]:
    styled = any(_style_level(one) is not None for one in document.paragraphs)
    for one in document.iter_inner_content():
        if hasattr(one, "rows"):
            yield from _table(one)
        elif text := one.text.strip():
            yield _paragraph(one, text, styled=styled)


def _paragraph(one: Any, text: str, *, styled: bool) -> Heading | Block:
    level = _style_level(one)
    if level is not None:
        return read_heading(text, level)
    if not styled and (found := find_heading([Line(text)], 0)) is not None and not found.rest:
        return found.heading
    bold = tuple(" ".join(run.text.split()) for run in one.runs if run.bold and run.text.strip())
    is_item = (one.style.name or "").startswith("List") if one.style is not None else False
    return Block(text, "item" if is_item or _is_numbered(one) else "paragraph",
                 term=_lead(one), marked=bold)  # fmt: skip


def _style_level(one: Any) -> int | None:
    """Return the level of a heading style: "Title" is 0, "Heading 2" 2; None: it is none."""
    style = one.style
    while style is not None:
        name = (style.name or "").casefold()
        if name == "title":
            return 0
        if name.startswith("heading ") and name[8:].isdigit():
            return int(name[8:])
        style = style.base_style
    return None


def _is_numbered(one: Any) -> bool:
    properties = one._p.pPr
    return properties is not None and properties.numPr is not None


def _lead(one: Any) -> str:
    """Return the words in bold that a paragraph begins with."""
    lead = ""
    for run in one.runs:
        if not run.text.strip() or run.bold:
            lead += run.text
        else:
            break
    return " ".join(lead.split())


def _table(table: Any) -> Iterator[Block]:
    rows = []
    for row in table.rows:
        cells: list[str] = []
        seen: list[Any] = []
        for cell in row.cells:
            if any(cell._tc is one for one in seen):
                continue  # a merged cell is given once for each column it covers
            seen.append(cell._tc)
            cells.append(" ".join(_cell_text(cell).split()))
        if any(cells):
            rows.append(Row(tuple(cells), JOINED.join(cells)))
    yield from row_blocks(rows)


def _cell_text(cell: Any) -> str:
    texts = [one.text for one in cell.paragraphs]
    texts += [
        _cell_text(inner) for table in cell.tables for row in table.rows for inner in row.cells
    ]
    return "\n".join(texts)
