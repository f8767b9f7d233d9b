"""PDF: pages, running heads and numbers dropped, divided words whole, headings told."""

import re
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kds.brain.documents.store import DocumentStore
from kds.documents.indexing import add_documents
from kds.readers.pdf import page_lines, read_pdf
from kds.readers.text import DocumentError

from .document_files import headings, pdf_bytes, said

FILE = Path("agreement.pdf")

PAGES = [
    ["Servicing Agreement", "SERVICING AGREEMENT", "ARTICLE I", "DEFINITIONS",
     "Section 1.01 Definitions",
     '"Closing Date" means June 1, 2024 or such other day as the parties to this agree-',
     "ment choose.",
     '"Determination Date" means the fifteenth day of each month, or, when that is no',
     "Page 1 of 3"],
    ["Servicing Agreement", "Business Day, the next one.",
     "Section 1.02 Interpretation", "Words in the singular stand for the plural.", "Page 2 of 3"],
    ["Servicing Agreement", "ARTICLE II", "PAYMENT", "2.01 Due dates",
     "Payments are due on each Determination Date. The Servicer sends a statement of what is",
     "owed to each holder ten days before.", "Page 3 of 3"],
]  # fmt: skip


def test_pages_become_sections_with_their_pages() -> None:
    content = read_pdf(pdf_bytes(PAGES), "file", FILE)
    assert headings(content.parts) == [
        "SERVICING AGREEMENT", "  ARTICLE I DEFINITIONS", "    Section 1.01 Definitions",
        "    Section 1.02 Interpretation", "  ARTICLE II PAYMENT", "    2.01 Due dates",
    ]  # fmt: skip
    pages = [part.heading.page for part in content.parts if part.heading]
    assert pages == [1, 1, 1, 2, 3, 3]
    assert content.pages == 3


def test_running_heads_go_and_divided_words_and_sentences_are_whole() -> None:
    assert said(read_pdf(pdf_bytes(PAGES), "file", FILE).parts) == [
        '"Closing Date" means June 1, 2024 or such other day as the parties to this agreement '
        "choose.",
        '"Determination Date" means the fifteenth day of each month, or, when that is no Business '
        "Day, the next one.",
        "Words in the singular stand for the plural.",
        "Payments are due on each Determination Date. The Servicer sends a statement of what is "
        "owed to each holder ten days before.",
    ]


@pytest.mark.parametrize("packed", [False, True])
def test_a_citation_names_the_page(store: DocumentStore, shelf: Path, packed: bool) -> None:
    (shelf / "agreement.pdf").write_bytes(pdf_bytes(PAGES, packed=packed))
    add_documents(store, [shelf])
    hit = store.search("What is the Determination Date?").hits[0]
    assert hit.citation == (
        "Servicing Agreement, Section 1.01 Definitions > Determination Date (p. 1)"
    )
    assert store.search("when are payments due").hits[0].passage.page == 3


def test_a_file_says_its_title_where_its_pages_do_not() -> None:
    content = read_pdf(pdf_bytes([["plain words only."]], title="My Report"), "file", FILE)
    assert content.title == "My Report"
    assert read_pdf(pdf_bytes([["plain words."]], title="a.doc"), "file", FILE).title == "file"
    for title in ("(anonymous)", "(unspecified)"):
        assert read_pdf(pdf_bytes([["plain words."]], title=title), "file", FILE).title == "file"


def test_headings_are_told_by_the_size_of_their_type() -> None:
    text = "The harbour master opens the gates when the tide allows it, and not before that hour."
    pages = [
        ["# Running a small", "# harbour", text, text, "## Opening the gates", text, text, text],
        ["## Night watches", text, text, "Nobody sleeps.", text],
    ]
    content = read_pdf(pdf_bytes(pages), "file", FILE)
    assert content.title == "Running a small harbour"
    assert headings(content.parts) == [
        "  Running a small harbour", "    Opening the gates", "    Night watches",
    ]  # fmt: skip
    assert [part.heading.page for part in content.parts if part.heading] == [1, 1, 2]


def test_pages_without_text_are_told() -> None:
    [note] = read_pdf(pdf_bytes([["Some text here."], []]), "file", FILE).notes
    assert note == "1 of 2 pages have no text: pictures, or empty"
    with pytest.raises(DocumentError, match="no text layer"):
        read_pdf(pdf_bytes([["x"], ["y"]], pictures=True), "file", FILE)


def test_an_encrypted_file_is_refused_and_one_without_a_password_is_read() -> None:
    assert said(read_pdf(_encrypted(""), "file", FILE).parts) == ["The fee is due in May."]
    with pytest.raises(DocumentError, match="is encrypted"):
        read_pdf(_encrypted("secret"), "file", FILE)


def _encrypted(password: str) -> bytes:
    from io import BytesIO

    from pypdf import PdfReader, PdfWriter

    writer = PdfWriter()
    writer.append(PdfReader(BytesIO(pdf_bytes([["The fee is due in May."]]))))
    writer.encrypt(user_password=password, owner_password="owner", algorithm="RC4-128")
    data = BytesIO()
    writer.write(data)
    return data.getvalue()


@pytest.mark.parametrize(
    "data",
    [b"", b"%PDF-1.4\n", b"hello", pdf_bytes(PAGES)[:300], b"%PDF-1.4\n" + bytes(range(256)) * 9],
)
def test_a_broken_file_is_one_message(data: bytes) -> None:
    with pytest.raises(DocumentError, match=r"PDF that cannot be read|no text layer"):
        read_pdf(data, "file", FILE)


@given(st.lists(st.text(alphabet="abc AB.,-12\n()", max_size=120), max_size=5))
def test_no_word_of_a_page_is_lost_but_running_heads(texts: list[str]) -> None:
    unlike = [
        f"{chr(100 + at)}ead {at}\n{text}\nfoot{chr(100 + at)}" for at, text in enumerate(texts)
    ]
    found = "".join(line.text for line in page_lines(unlike))
    letters = re.sub(r"[^abcAB]", "", found)
    kept = "\n".join(unlike)
    assert letters == re.sub(r"[^abcAB]", "", kept)
