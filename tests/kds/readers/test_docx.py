"""DOCX: heading styles, lists, tables; bad files are reported."""

import zipfile
from io import BytesIO
from pathlib import Path
from typing import Any

import docx
import pytest

from kds.brain.documents.definitions import definitions
from kds.readers.docx import read_docx
from kds.readers.text import DocumentError

from ...effort import LINEAR, growth
from .document_files import headings, said

FILE = Path("agreement.docx")


def docx_bytes(document: Any) -> bytes:
    data = BytesIO()
    document.save(data)
    return data.getvalue()


@pytest.fixture
def agreement() -> bytes:
    document = docx.Document()
    document.add_heading("Servicing Agreement", 0)
    document.add_heading("ARTICLE I DEFINITIONS", 1)
    document.add_heading("Section 1.01 Terms", 2)
    paragraph = document.add_paragraph()
    paragraph.add_run("Closing Date").bold = True
    paragraph.add_run(": June 1, 2024.")
    document.add_paragraph("First", style="List Bullet")
    table = document.add_table(rows=2, cols=2)
    for cell, text in zip((*table.rows[0].cells, *table.rows[1].cells),
                          ("Term", "Meaning", "Fee", "What is paid"), strict=True):  # fmt: skip
        cell.text = text
    document.add_heading("Section 1.02 Other", 2)
    document.add_paragraph("The end.")
    return docx_bytes(document)


def test_styles_lists_tables_and_bold_words_are_read(agreement: bytes) -> None:
    content = read_docx(agreement, "file", FILE)
    assert content.title == "Servicing Agreement"
    assert headings(content.parts) == [
        "Servicing Agreement", "  ARTICLE I DEFINITIONS", "    Section 1.01 Terms",
        "    Section 1.02 Other",
    ]  # fmt: skip
    assert said(content.parts) == [
        "Closing Date: June 1, 2024.", "First", "Term | Meaning", "Fee | What is paid", "The end.",
    ]  # fmt: skip
    blocks = [block for part in content.parts for block in part.blocks]
    defined = {one.term: one.strength for block in blocks for one in definitions(block)}
    assert defined == {"Closing Date": 0.9, "Fee": 1.0}


def test_without_styles_headings_are_told_by_their_looks() -> None:
    document = docx.Document()
    document.add_paragraph().add_run("ARTICLE I").bold = True
    document.add_paragraph().add_run("DEFINITIONS").bold = True
    document.add_paragraph("Section 1.01 Terms. The following holds.")
    document.add_paragraph("More text.")
    content = read_docx(docx_bytes(document), "file", FILE)
    assert headings(content.parts)[-1].strip() == "Section 1.01 Terms"
    assert said(content.parts) == ["The following holds.", "More text."]


def test_a_cell_is_read_once_however_much_it_covers() -> None:
    document = docx.Document()
    wide = document.add_table(rows=1, cols=2)
    wide.cell(0, 0).merge(wide.cell(0, 1)).text = "wide"
    table = document.add_table(rows=2, cols=2)
    for at, cell in enumerate((*table.rows[0].cells, *table.rows[1].cells)):
        cell.text = f"c{at}"
    table.cell(0, 0)._tc.grid_span = 2_000_000_000
    content = read_docx(docx_bytes(document), "file", FILE)
    assert said(content.parts) == ["wide", "c0 | c1", "c2 | c3"]


def test_bad_files_are_one_message(agreement: bytes) -> None:
    for data, message in (
        (b"\xd0\xcf\x11\xe0" + b"x" * 600, "is encrypted, or a DOC"),
        (b"hello", "not a ZIP file"),
        (_zip("a.txt", b"x"), "DOCX that cannot be read"),
        (agreement[:-200], r"not a ZIP file|DOCX that cannot be read"),
        (_bomb(), "unpacks to 1,000 MB"),
    ):
        with pytest.raises(DocumentError, match=message):
            read_docx(data, "file", FILE)


def test_the_work_grows_with_the_length_of_a_document_alone() -> None:
    def data(paragraphs: int) -> bytes:
        document = docx.Document()
        for number in range(paragraphs):
            document.add_paragraph(f"Some words {number}.")
        return docx_bytes(document)

    given = {paragraphs: data(paragraphs) for paragraphs in (25, 50, 400)}
    assert growth(lambda paragraphs: read_docx(given[paragraphs], "file", FILE), 50) < LINEAR


def _zip(name: str, data: bytes) -> bytes:
    packed = BytesIO()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr(name, data)
    return packed.getvalue()


def _bomb() -> bytes:
    """Make a part that claims to have 1,000 MB."""
    small = bytearray(_zip("word/document.xml", b"0" * 1000))
    size = (1000 * 2**20).to_bytes(4, "little")
    directory = small.rindex(b"PK\x01\x02")
    small[22:26] = size
    small[directory + 24 : directory + 28] = size
    return bytes(small)
