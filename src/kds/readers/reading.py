"""Reading a file of any kind: which kind it is, whether it may be read, and what it says.

A file that cannot be read is a DocumentError with one message; nothing else escapes.
"""

import codecs
import hashlib
import os
import stat
from datetime import UTC, datetime
from pathlib import Path
from typing import Final

from kds.brain.documents.content import Content, Source
from kds.brain.documents.document_values import DocumentKind
from kds.readers.docx import read_docx
from kds.readers.error import DocumentError
from kds.readers.html import charset_of, read_html
from kds.readers.markdown import read_markdown
from kds.readers.pdf import read_pdf
from kds.readers.plain import read_plain

KINDS: Final[dict[str, DocumentKind]] = {
    ".md": "markdown", ".markdown": "markdown", ".mdown": "markdown", ".mkd": "markdown",
    ".txt": "text", ".text": "text",
    ".html": "html", ".htm": "html", ".xhtml": "html",
    ".pdf": "pdf",
    ".docx": "docx",
}  # fmt: skip
"""The endings of files that can be read."""

MAX_BYTES: Final = 64 * 2**20
"""Of a PDF or DOCX, which may be full of pictures."""

MAX_TEXT_BYTES: Final = 8 * 2**20
"""Of a text: 1,000 pages have about 3 MB."""

MAX_CHARACTERS: Final = 20_000_000
"""Of what a file says: ten times the longest of books."""

_CODECS: Final = frozenset(
    "ascii utf-8 utf-16 utf-16-le utf-16-be utf-32 iso8859-1 iso8859-2 iso8859-3 iso8859-4 "
    "iso8859-5 iso8859-6 iso8859-7 iso8859-8 iso8859-9 iso8859-10 iso8859-11 iso8859-13 "
    "iso8859-14 iso8859-15 iso8859-16 cp1250 cp1251 cp1252 cp1253 cp1254 cp1255 cp1256 cp1257 "
    "cp1258 cp874 cp866 koi8-r koi8-u mac-roman mac-cyrillic gb2312 gbk gb18030 big5 "
    "big5hkscs euc_jp iso2022_jp shift_jis euc_kr cp932 cp949 cp950 tis-620".split()
)
"""Encodings of texts, as Python calls them; it knows others that are none of pages."""

_BOMS: Final = ((b"\xef\xbb\xbf", "utf-8-sig"), (b"\xff\xfe", "utf-16"), (b"\xfe\xff", "utf-16"))


def kind_of(path: Path) -> DocumentKind | None:
    """Return the kind of a file by its ending; None: it is none that can be read."""
    return KINDS.get(path.suffix.lower())


def readable_kind(path: Path) -> DocumentKind:
    """Return the same. Raises DocumentError where it is none."""
    kind = kind_of(path)
    if kind is None:
        known = ", ".join(sorted({ending.lstrip(".") for ending in KINDS}))
        raise DocumentError(path, "is no document that can be read", f"give one of: {known}")
    return kind


def file_source(path: Path) -> Source:
    """Return what a file's folder says of it, without its digest. Raises DocumentError."""
    try:
        status = path.stat()
    except OSError as error:
        raise _unreadable(path, error) from error
    return Source(str(path), status.st_size, _modified(path, status), "")


def read_source(path: Path) -> tuple[bytes, Source]:
    """Return the bytes of a file and what identifies them. Raises DocumentError."""
    limit = MAX_BYTES if readable_kind(path) in ("pdf", "docx") else MAX_TEXT_BYTES
    try:
        # O_NONBLOCK: opening a named pipe must not wait for its writer.
        descriptor = os.open(path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0))
        with os.fdopen(descriptor, "rb") as file:
            status = os.fstat(file.fileno())
            if not stat.S_ISREG(status.st_mode):
                raise DocumentError(path, "is not an ordinary file", "give a file or a folder")
            if status.st_size > limit:
                raise DocumentError(
                    path, f"is larger than {limit // 2**20} MB", "split it into smaller files"
                )
            data = file.read(limit + 1)
    except OSError as error:
        raise _unreadable(path, error) from error
    digest = hashlib.sha256(data).hexdigest()
    return data, Source(str(path), len(data), _modified(path, status), digest)


def _modified(path: Path, status: os.stat_result) -> datetime:
    """Return when a file was changed. Raises DocumentError for no date of a calendar."""
    try:
        return datetime.fromtimestamp(status.st_mtime, UTC)
    except (ValueError, OverflowError, OSError) as error:
        raise DocumentError(
            path, "has a date that no calendar knows", f"give it today's: touch '{path.name}'"
        ) from error


def _unreadable(path: Path, error: OSError) -> DocumentError:
    reason = error.strerror or type(error).__name__
    return DocumentError(path, f"cannot be read: {reason}", "check the file and its rights")


def read_document(path: Path, data: bytes | None = None) -> Content:
    """Read a file. Raises DocumentError when it cannot be, KdsError when a library is missing."""
    if data is None:
        data, _ = read_source(path)
    kind = kind_of(path)
    name = path.stem.replace("_", " ").replace("-", " ").strip() or path.name
    if kind == "pdf":
        content = read_pdf(data, name, path)
    elif kind == "docx":
        content = read_docx(data, name, path)
    else:
        content = _read_text(kind, data, name, path)
    _check(content, path)
    return content


def _read_text(kind: DocumentKind | None, data: bytes, name: str, path: Path) -> Content:
    text = _decoded(data, path, charset_of(data) if kind == "html" else None)
    text = text.replace("\r\n", "\n").replace("\r", "\n")
    if kind == "html":
        return read_html(text, name, path)
    return read_markdown(text, name) if kind == "markdown" else read_plain(text, name)


def _decoded(data: bytes, path: Path, charset: str | None) -> str:
    encoding = next((name for mark, name in _BOMS if data.startswith(mark)), charset or "utf-8")
    if b"\x00" in data[:65536] and encoding != "utf-16":
        raise DocumentError(path, "is binary, not text", "give the document it was made from")
    if not _is_codec(encoding):
        raise DocumentError(
            path, f"names an encoding that does not exist: {encoding}", "save it as UTF-8"
        )
    try:
        return data.decode(encoding)
    except UnicodeError as error:
        start = error.start if isinstance(error, UnicodeDecodeError) else 0
        line = data.count(b"\n", 0, start) + 1
        raise DocumentError(
            path, f"is not {encoding.upper()} text (line {line})", "save it as UTF-8"
        ) from error


def _is_codec(encoding: str) -> bool:
    """Tell whether texts are written so: "punycode" and "undefined" are codecs of Python too."""
    try:
        return codecs.lookup(encoding).name.removesuffix("-sig") in _CODECS
    except LookupError:
        return False


def _check(content: Content, path: Path) -> None:
    size = sum(len(block.text) for part in content.parts for block in part.blocks)
    if size > MAX_CHARACTERS:
        raise DocumentError(
            path, f"has more than {MAX_CHARACTERS:,} characters", "split it into smaller files"
        )
    if not size and not any(part.heading for part in content.parts):
        raise DocumentError(path, "has no text", "give a document that says something")
