"""`kds docs`: documents on the command line, with real files of every kind."""

import os
from functools import partial
from pathlib import Path

import docx
import pytest

from ..conftest import Run, data, refused
from ..readers.document_files import pdf_bytes

pytestmark = pytest.mark.usefixtures("shelf")

SOME_FAILED = 1

AGREEMENT = """\
# Servicing Agreement

## Section 1.01 Definitions

**"Closing Date"** means June 1, 2024.

**"Determination Date"** means the fifteenth day of each month.

## Section 2.01 Payments

Payments are due ten days after each Determination Date.
"""


@pytest.fixture
def shelf(workspace: Path) -> Path:
    """A folder in the workspace with a document of every kind."""
    folder = workspace / "shelf"
    folder.mkdir()
    (folder / "agreement.md").write_text(AGREEMENT)
    (folder / "handbook.txt").write_text("STAFF HANDBOOK\n\n1.1 Leave\n\nStaff have 25 days.\n")
    (folder / "guide.html").write_text("<h1>Guide</h1><h2>Keys</h2><p>Send your key.</p>")
    (folder / "paper.pdf").write_bytes(pdf_bytes([["Opening hours are from nine to five."]]))
    document = docx.Document()
    document.add_heading("Travel policy", 0)
    document.add_heading("Hotels", 1)
    document.add_paragraph("Hotels may cost 120 pounds a night.")
    document.save(str(folder / "travel.docx"))
    return folder


@pytest.fixture
def docs(kds_call: Run) -> Run:
    return partial(kds_call, "docs")


def test_documents_of_every_kind_are_added_found_listed_and_shown(docs: Run) -> None:
    added = docs("add", "shelf")
    assert added.code == 0, added.err
    assert "added     shelf/agreement.md  'Servicing Agreement', 3 sections" in added.out
    assert added.out.endswith("5 added\n")
    for question, citation in (
        ("What is the Determination Date?",
         "Servicing Agreement, Section 1.01 Definitions > Determination Date"),
        ("how many days of leave", "STAFF HANDBOOK, Section 1.1 Leave"),
        ("which key do I send", "Guide, Keys"),
        ("opening hours", "paper (p. 1)"),
        ("what may a hotel cost", "Travel policy, Hotels"),
    ):  # fmt: skip
        hits = data(docs("search", question, "--json"))["hits"]
        assert hits[0]["citation"].casefold() == citation.casefold()
    listed = docs("show").out
    assert "Servicing Agreement" in listed
    assert "shelf/paper.pdf" in listed
    for arguments, said in (
        (["search", "fee", "--only", "nothing"], "there are: kds docs show"),
        (["search", " "], "fix: say what to look for"),
    ):
        refused(docs(*arguments), said)
    out = docs("search", "What is the Closing Date?", "--why", "--limit", "1").out
    assert "1. 1.00  Servicing Agreement, Section 1.01 Definitions > Closing Date" in out
    assert '**"Closing Date"** means June 1, 2024.' in out
    assert "defines 'Closing Date'" in out
    assert data(docs("search", "Closing Date", "--json"))["concepts"] == ["Closing Date"]
    inside = data(docs("search", "date days", "--only", "handbook", "--json"))
    assert {Path(hit["path"]).name for hit in inside["hits"]} == {"handbook.txt"}
    assert docs("search", "xylophone").out == "nothing was found\n"


def test_nothing_is_made_by_looking(docs: Run, kds_call: Run, workspace: Path) -> None:
    assert docs("show").out == "no documents have been added\n"
    assert docs("search", "fee").out == "no documents have been added\n"
    assert data(docs("search", "fee", "--json"))["hits"] == []
    assert data(kds_call("memory", "check", "--json"))["documents"]["documents"] == 0
    refused(docs("remove", "a"), "fix: add some: kds docs add PATH")
    assert not (workspace / "kds-brain" / "documents.db").exists()


def test_a_second_add_reads_what_changed_and_files_that_have_gone_stay(
    docs: Run, kds_call: Run, shelf: Path
) -> None:
    for path in shelf.iterdir():
        os.utime(path, (1.7e9, 1.7e9))
    docs("add", "shelf")
    (shelf / "handbook.txt").write_text("STAFF HANDBOOK\n\n1.1 Leave\n\nStaff have 30 days.\n")
    report = data(docs("add", "shelf", "--json"))
    assert report["counts"] == {"added": 0, "replaced": 1, "unchanged": 4, "failed": 0}
    assert data(docs("search", "leave", "--json"))["hits"][0]["text"] == "Staff have 30 days."
    (shelf / "travel.docx").unlink()
    assert docs("add", "shelf").out == "4 unchanged\n"
    assert "the file of a document is gone: " in kds_call("memory", "check").out


def test_bad_files_are_told_one_by_one_and_removed_documents_are_gone(
    docs: Run, shelf: Path, workspace: Path
) -> None:
    (shelf / "bad.pdf").write_bytes(b"no pdf")
    (shelf / "latin.txt").write_bytes(b"caf\xe9")
    result = docs("add", "shelf")
    assert result.code == SOME_FAILED
    assert "kds: shelf/bad.pdf: PDF that cannot be read" in result.err
    assert "kds: shelf/latin.txt: not UTF-8 text (line 1)" in result.err
    assert "fix: save it as UTF-8" in result.err
    assert "5 added, 2 failed" in result.out
    out = docs("remove", "agreement.md", "handbook").out
    assert "removed 'Servicing Agreement' (shelf/agreement.md)" in out
    assert (shelf / "agreement.md").exists()
    assert b"Determination" not in (workspace / "kds-brain" / "documents.db").read_bytes()
    refused(docs("remove", "agreement.md"), "agreement.md")


def test_vectors_are_made_with_the_documents_or_later(
    docs: Run, kds_call: Run, embeddings: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    backfill = partial(kds_call, "memory", "check", "--backfill")
    monkeypatch.setenv("RAG_EMBEDDINGS", embeddings)
    (tmp_path / "down").touch()
    failed = docs("add", "shelf")
    assert failed.code == 0
    assert "the model is down" in failed.err
    assert "5 added" in failed.out
    (tmp_path / "down").unlink()
    made = data(backfill("--json"))
    assert made["embedded"] == made["documents"]["models"][0]["vectors"] > 5
    found = data(docs("search", "hotels", "--json"))
    assert found["hits"][0]["scores"]["meaning"] > 0
    assert "nothing to do" in backfill().out
    monkeypatch.setenv("RAG_EMBEDDINGS", "off")
    assert data(backfill("--json"))["embedded"] == 0
