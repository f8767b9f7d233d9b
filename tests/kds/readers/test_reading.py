"""Files that can be read and files that cannot: each bad one is one clear message."""

import os
import sys
from pathlib import Path

import pytest

from kds.brain.errors import KdsError
from kds.brain.installation import install_line
from kds.readers import reading
from kds.readers.reading import read_document, read_source
from kds.readers.text import DocumentError


@pytest.mark.parametrize(
    ("name", "data", "message"),
    [
        ("a.txt", b"one\ntwo\ncaf\xe9\n", r"not UTF-8 text \(line 3\)"),
        ("a.md", b"ab\x00\x01\x02" * 20, "is binary, not text"),
        ("a.txt", b"", "has no text"),
        ("a.txt", b" \n\n ", "has no text"),
        ("a.html", b"<html><script>x</script></html>", "has no text"),
        ("a.html", b'<meta charset="klingon">hello', "unknown encoding: klingon"),
        ("a.html", b'<meta charset="base64">hello', "unknown encoding: base64"),
        ("a.pdf", b"%PDF-1.7 nothing", "PDF that cannot be read"),
        ("a.docx", b"PK\x03\x04", "not a ZIP file"),
        ("a.exe", b"MZ", "not a kind of document"),
    ],
)
def test_a_bad_file_is_one_message(tmp_path: Path, name: str, data: bytes, message: str) -> None:
    path = tmp_path / name
    path.write_bytes(data)
    with pytest.raises(DocumentError, match=message) as caught:
        read_document(path)
    assert caught.value.where == str(path)
    assert caught.value.hint


@pytest.mark.parametrize(
    ("name", "data", "said"),
    [
        ("a.txt", "café".encode(), "café"),
        ("a.txt", "\ufeffcafé".encode(), "café"),
        ("a.txt", "café".encode("utf-16"), "café"),
        ("a.txt", b"a\r\nb\rc", "a b c"),
        ("a.html", '<meta charset="iso-8859-1"><p>café</p>'.encode("latin-1"), "café"),
    ],
)
def test_usual_encodings_are_read(tmp_path: Path, name: str, data: bytes, said: str) -> None:
    path = tmp_path / name
    path.write_bytes(data)
    assert read_document(path).parts[0].blocks[0].text == said


def test_a_huge_file_is_not_read(tmp_path: Path) -> None:
    for name, limit in (("a.txt", 8), ("a.pdf", 64)):
        path = tmp_path / name
        with path.open("wb") as file:
            file.truncate(100 * 2**20)  # a hole: takes no space
        with pytest.raises(DocumentError, match=f"is larger than {limit} MB"):
            read_source(path)


@pytest.mark.skipif(sys.platform == "win32", reason="no named pipes there")
def test_a_pipe_or_folder_is_not_a_document(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe.txt")
    with pytest.raises(DocumentError, match="not an ordinary file"):
        read_source(tmp_path / "pipe.txt")
    (tmp_path / "folder.md").mkdir()
    with pytest.raises(DocumentError, match=r"not an ordinary file|cannot be read"):
        read_source(tmp_path / "folder.md")


@pytest.mark.parametrize(("name", "module"), [("a.html", "lxml.etree"), ("a.pdf", "pypdf"),
                                              ("a.docx", "docx")])  # fmt: skip
def test_a_missing_library_is_named_with_its_extra(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, module: str
) -> None:
    monkeypatch.setitem(sys.modules, module, None)
    path = tmp_path / name
    path.write_bytes(b"<p>text</p>")
    with pytest.raises(KdsError) as caught:
        read_document(path)
    assert install_line("docs") in str(caught.value.hint)


def test_too_much_text_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reading, "MAX_CHARACTERS", 10)
    path = tmp_path / "a.txt"
    path.write_text("more than ten characters")
    with pytest.raises(DocumentError, match="more than 10 characters"):
        read_document(path)
