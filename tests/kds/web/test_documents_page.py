"""The page of documents."""

import io
import sys
from pathlib import Path
from typing import Any

import pytest

from kds.documents import uploads

from ..readers.document_files import pdf_bytes
from .conftest import Site, Visitor, Windows
from .test_every_page import found_by_axe

AGREEMENT = b"""\
# Servicing Agreement

## 1 Definitions

"Determination Date" means the 11th day of each month.

## 2 Business days

If the Determination Date is not a Business Day, it is the next one.
"""


def dropped(visitor: Visitor, name: str = "agreement.md", content: bytes = AGREEMENT) -> str:
    return visitor.add_files(file=(name, content))


@pytest.mark.parametrize(
    ("name", "content", "told"),
    [
        ("virus.exe", b"MZ", "not a kind of document that KDS reads"),
        ("broken.pdf", b"%PDF-1.7 nothing", "broken.pdf"),
    ],
)
def test_a_file_that_cannot_be_read_is_named_and_not_kept(
    site: Site, visitor: Visitor, name: str, content: bytes, told: str
) -> None:
    page = dropped(visitor, name, content)
    assert not (site.workspace.brain / "uploads" / name).exists()
    assert told in page
    assert 'role="alert"' in page


@pytest.mark.parametrize("name", ["nothing.md", "../../etc/passwd"])
def test_a_document_that_is_not_there_is_told(visitor: Visitor, name: str) -> None:
    dropped(visitor)
    answer = visitor.get("/documents/open", params={"path": name})
    assert answer.status_code == 404
    assert "no document" in answer.text


def test_another_file_of_the_same_name_is_kept_beside_the_first(site: Site, new_page: Any) -> None:
    page = new_page(at="/documents")
    folder = site.workspace.brain / "uploads"

    def drop(text: str) -> None:
        one = {"name": "README.md", "mimeType": "text/markdown", "buffer": text.encode()}
        page.set_input_files("#file", one)
        page.locator("form.drop button").click()
        page.wait_for_function("() => document.querySelector('#alerts .alert')")

    drop("# Alpha\n\nThe first project.\n")
    page.goto(page.url)
    drop("# Alpha\n\nThe first project.\n")
    assert "There already, and unchanged: README.md" in page.locator("#alerts").inner_text()
    page.goto(page.url)
    drop("# Beta\n\nThe second project.\n")
    assert "Read: README (2).md" in page.locator("#alerts").inner_text()
    assert "first project" in (folder / "README.md").read_text()
    assert "second project" in (folder / "README (2).md").read_text()
    assert page.get_by_role("link", name="Alpha").is_visible()
    page.locator("tr", has_text="README.md").locator("summary").click()
    page.locator("tr", has_text="README.md").get_by_role("button", name="Take it out").click()
    page.get_by_text("is taken out").wait_for()
    assert not (folder / "README.md").exists()


FEE = "The servicing fee is 0.25% a year, paid on the Payment Date."
FILLER = [f"Clause {number} says nothing of money at all." for number in range(60)]


def a_docx() -> bytes:
    """Word's file with the fee in its second section."""
    from docx import Document

    document, file = Document(), io.BytesIO()
    document.add_heading("Fees", 1)
    for line in (*FILLER[:30], FEE, *FILLER[30:]):
        document.add_paragraph(line)
    document.save(file)
    return file.getvalue()


def a_pdf() -> bytes:
    pages = (["# Fees", *FILLER[:30]], ["## More", *FILLER[30:], FEE])
    return pdf_bytes(pages, title="Fees")


def a_markdown() -> bytes:
    return "\n\n".join(("# Fees", *FILLER[:30], FEE, *FILLER[30:])).encode()


@pytest.mark.parametrize(
    ("name", "made"), [("fees.md", a_markdown), ("fees.pdf", a_pdf), ("fees.docx", a_docx)]
)
@pytest.mark.parametrize("place", ["/documents?q=", "/memory?q="])
def test_a_citation_opens_the_document_at_the_passage_and_marks_it(
    site: Site, visitor: Visitor, new_page: Any, name: str, made: Any, place: str
) -> None:
    for old in ("md", "pdf", "docx"):
        (site.workspace.brain / "uploads" / f"fees.{old}").unlink(missing_ok=True)
    content = made()
    assert f"Read: {name}" in dropped(visitor, name, content)
    kept = site.workspace.brain / "uploads" / name
    assert (kept.read_bytes(), kept.stat().st_mode & 0o077) == (content, 0)
    listed = visitor.get("/documents").text.rpartition(f"/{name}</span>")[0]
    document = listed.rpartition("document=")[2].partition('"')[0]
    try:
        page = new_page(at=f"{place}what+is+the+servicing+fee")
        page.locator("article .row a").first.click()
        mark = page.locator("#cited")
        mark.wait_for()
        assert FEE in " ".join(mark.inner_text().split())
        page.wait_for_function("() => scrollY > 0 || document.body.scrollHeight <= innerHeight")
        box = mark.bounding_box()
        assert 0 <= box["y"] < page.viewport_size["height"]
        if name.endswith(".pdf"):
            assert "page 2" in page.locator("#text").inner_text()
        page.go_back()
        assert page.locator("article .row a").count()
    finally:
        visitor.send_form("/documents/remove", document=document)


SLOW = """\
import sys, time
from pathlib import Path
from kds.documents import indexing, uploads
gate, add = Path(sys.argv[1]), indexing._add
def slowly(store, path, *how):
    while path.name != "part-0.md" and not gate.exists():
        time.sleep(0.02)
    return add(store, path, *how)
indexing._add = slowly
uploads.main()
"""
"""Reads one file, and the others once there is a file that says so."""


def parts(page: Any) -> None:
    """Send three files by the page."""
    files = [{"name": f"part-{one}.md", "mimeType": "text/markdown",
              "buffer": f"# Part {one}\n\nSaid.\n".encode()} for one in range(3)]  # fmt: skip
    page.set_input_files("#file", files)
    page.locator("form.drop button").click()
    page.locator("#reading", has_text="1 of 3 files").wait_for()


def kept(site: Site) -> list[str]:
    return sorted(one.name for one in (site.workspace.brain / "uploads").glob("part-*.md"))


@pytest.mark.parametrize("chosen", ["stop", "leave", "stay"])
def test_reading_is_a_job_with_progress_that_can_be_left_or_stopped(
    site: Site, new_page: Any, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, chosen: str
) -> None:
    gate = tmp_path / "go on"
    monkeypatch.setattr(uploads, "COMMAND", (sys.executable, "-c", SLOW, str(gate)))
    page = new_page(at="/documents")
    parts(page)
    assert not found_by_axe(page)
    if chosen == "stop":
        page.get_by_role("button", name="Stop").click()  # in the middle of a file
        page.get_by_text("stopped after 1 of 3 files").first.wait_for()
    elif chosen == "stay":
        page.goto(f"{site.url}/documents?q=what+is+said")
        page.get_by_role("searchbox").fill("And then?")
        gate.touch()
        page.locator("#alerts", has_text="Read: part-0.md, part-1.md, part-2.md").wait_for()
        assert page.locator("tr", has_text="part-").count() == 3
        assert page.locator("#reading").count() == 0
        assert page.url.endswith("?q=what+is+said")
        assert page.get_by_role("searchbox").input_value() == "And then?"
    else:
        for name in ("Chat", "Documents", "Memory"):  # pages answer meanwhile
            page.get_by_role("link", name=name, exact=True).click()
            page.wait_for_load_state()
        assert page.get_by_role("heading", name="Memory", exact=True).is_visible()
        gate.touch()
        while not page.get_by_text("Read: part-0.md, part-1.md, part-2.md").count():
            page.reload()
        page.goto(f"{site.url}/documents")
        page.get_by_text("What became of the files sent last").click()
        assert page.get_by_text("Read: part-0.md, part-1.md, part-2.md").is_visible()
    assert kept(site) == [f"part-{one}.md" for one in range(1 if chosen == "stop" else 3)]
    while page.locator("tr", has_text="part-").count():
        row = page.locator("tr", has_text="part-").first
        row.locator("summary").click()
        row.get_by_role("button", name="Take it out").click()
        page.get_by_text("is taken out").wait_for()
        page.goto(f"{site.url}/documents")


def test_what_is_too_large_is_refused_in_words_on_the_page(
    new_page: Any, windows: Windows, tmp_path: Path
) -> None:
    page, large = new_page(at="/documents"), tmp_path / "large.md"
    large.write_bytes(b"word " * 14_000_000)
    page.set_input_files("#file", large)
    page.locator("form.drop button").click()
    page.get_by_text("What was sent is too large for the page.").wait_for()
    assert page.evaluate("document.activeElement.id") == "main"
    assert [one for one in windows.seen if "413" not in one] == []
    windows.seen.clear()  # the browser notes every refusal
