"""DOCX: heading styles, lists, tables; bad files told."""

import zipfile
from io import BytesIO
from pathlib import Path
from typing import Any

import docx
import pytest
from document_files import headings, said

from kds.brain.documents.definition import definitions
from kds.readers.docx import read_docx
from kds.readers.error import DocumentError

from ...effort import LINEAR, growth

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


def test_styles_make_sections(agreement: bytes) -> None:
    content = read_docx(agreement, "file", FILE)
    assert content.title == "Servicing Agreement"
    assert headings(content.parts) == [
        "Servicing Agreement", "  ARTICLE I DEFINITIONS", "    Section 1.01 Terms",
        "    Section 1.02 Other",
    ]  # fmt: skip
    assert said(content.parts) == [
        "Closing Date: June 1, 2024.", "First", "Term | Meaning", "Fee | What is paid", "The end.",
    ]  # fmt: skip


def test_bold_words_and_tables_define(agreement: bytes) -> None:
    blocks = [block for part in read_docx(agreement, "file", FILE).parts for block in part.blocks]
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


def test_a_merged_cell_is_read_once() -> None:
    document = docx.Document()
    table = document.add_table(rows=1, cols=2)
    table.cell(0, 0).merge(table.cell(0, 1)).text = "wide"
    content = read_docx(docx_bytes(document), "file", FILE)
    assert said(content.parts) == ["wide"]


def test_bad_files_are_told(agreement: bytes) -> None:
    with pytest.raises(DocumentError, match="is encrypted, or a DOC"):
        read_docx(b"\xd0\xcf\x11\xe0" + b"x" * 600, "file", FILE)
    with pytest.raises(DocumentError, match="not a ZIP file"):
        read_docx(b"hello", "file", FILE)
    with pytest.raises(DocumentError, match="is no DOCX that can be read"):
        read_docx(_zip("a.txt", b"x"), "file", FILE)
    with pytest.raises(DocumentError, match=r"not a ZIP file|is no DOCX that can be read"):
        read_docx(agreement[:-200], "file", FILE)


def test_a_bomb_is_not_unpacked() -> None:
    with pytest.raises(DocumentError, match="unpacks to 1,000 MB"):
        read_docx(_bomb(), "file", FILE)


def test_styles_that_are_based_on_each_other_are_none_of_headings() -> None:
    document = docx.Document()
    one = document.styles.add_style("One", 1)
    two = document.styles.add_style("Two", 1)
    one.base_style, two.base_style = two, one
    document.add_paragraph("Some words.", style="One")
    content = read_docx(docx_bytes(document), "file", FILE)
    assert said(content.parts) == ["Some words."]


def test_a_cell_that_says_it_covers_a_billion_columns_is_read_once() -> None:
    document = docx.Document()
    table = document.add_table(rows=2, cols=2)
    for at, cell in enumerate((*table.rows[0].cells, *table.rows[1].cells)):
        cell.text = f"c{at}"
    table.cell(0, 0)._tc.grid_span = 2_000_000_000
    content = read_docx(docx_bytes(document), "file", FILE)
    assert said(content.parts) == ["c0 | c1", "c2 | c3"]


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
    """A part that says of itself that it has 1,000 MB."""
    small = bytearray(_zip("word/document.xml", b"0" * 1000))
    size = (1000 * 2**20).to_bytes(4, "little")
    directory = small.rindex(b"PK\x01\x02")
    small[22:26] = size
    small[directory + 24 : directory + 28] = size
    return bytes(small)
