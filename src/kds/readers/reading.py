"""Reading a file of any kind: which kind it is, whether it may be read, and what it says.

A file that cannot be read is a DocumentError with one message; nothing else escapes.
"""

import hashlib
import os
import stat
from datetime import UTC, datetime
from pathlib import Path
from typing import Final

from kds.brain.documents.values import Content, DocumentKind, Source
from kds.readers.docx import read_docx
from kds.readers.html import charset_of, read_html
from kds.readers.markdown import read_markdown
from kds.readers.pdf import read_pdf
from kds.readers.text import DocumentError, read_text

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

_BOMS: Final = ((b"\xef\xbb\xbf", "utf-8-sig"), (b"\xff\xfe", "utf-16"), (b"\xfe\xff", "utf-16"))


def kind_of(path: Path) -> DocumentKind | None:
    """Return the kind of a file by its ending; None for files that cannot be read."""
    return KINDS.get(path.suffix.lower())


def readable_kind(path: Path) -> DocumentKind:
    """Return the kind of a file. Raises DocumentError for files that cannot be read."""
    if kind := kind_of(path):
        return kind
    known = ", ".join(sorted(ending.lstrip(".") for ending in KINDS))
    raise DocumentError(path, "not a kind of document that KDS reads", f"give one of: {known}")


def read_source(path: Path) -> tuple[bytes, Source]:
    """Return the bytes of a file and what identifies them. Raises DocumentError."""
    limit = MAX_BYTES if readable_kind(path) in ("pdf", "docx") else MAX_TEXT_BYTES
    try:
        # O_NONBLOCK: opening a named pipe must not wait for its writer.
        descriptor = os.open(path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0))
        with os.fdopen(descriptor, "rb") as file:
            status = os.fstat(file.fileno())
            if not stat.S_ISREG(status.st_mode):
                raise DocumentError(path, "not an ordinary file", "give a file or a folder")
            if status.st_size > limit:
                raise DocumentError(
                    path, f"is larger than {limit // 2**20} MB", "split it into smaller files"
                )
            data = file.read(limit + 1)
    except OSError as error:
        reason = f"cannot be read: {error.strerror or type(error).__name__}"
        raise DocumentError(path, reason, "check the file and its permissions") from error
    modified = datetime.fromtimestamp(status.st_mtime, UTC)
    return data, Source(str(path), len(data), modified, hashlib.sha256(data).hexdigest())


def read_document(path: Path, data: bytes | None = None) -> Content:
    """Read a file. Raises DocumentError when that fails, KdsError when a library is missing."""
    if data is None:
        data, _ = read_source(path)
    kind = kind_of(path)
    name = path.stem.replace("_", " ").replace("-", " ").strip() or path.name
    if kind in ("pdf", "docx"):
        content = (read_pdf if kind == "pdf" else read_docx)(data, name, path)
    else:
        text = _decoded(data, path, charset_of(data) if kind == "html" else None)
        text = text.replace("\r\n", "\n").replace("\r", "\n")
        if kind == "html":
            content = read_html(text, name, path)
        else:
            content = (read_markdown if kind == "markdown" else read_text)(text, name)
    size = sum(len(block.text) for part in content.parts for block in part.blocks)
    if size > MAX_CHARACTERS:
        raise DocumentError(
            path, f"has more than {MAX_CHARACTERS:,} characters", "split it into smaller files"
        )
    if not size and not any(part.heading for part in content.parts):
        raise DocumentError(path, "has no text", "give a document with text in it")
    return content


def _decoded(data: bytes, path: Path, charset: str | None) -> str:
    encoding = next((name for mark, name in _BOMS if data.startswith(mark)), charset or "utf-8")
    if b"\x00" in data[:65536] and encoding != "utf-16":
        raise DocumentError(path, "is binary, not text", "give the document it was made from")
    try:
        return data.decode(encoding)
    except LookupError as error:
        raise DocumentError(path, f"unknown encoding: {encoding}", "save it as UTF-8") from error
    except UnicodeError as error:
        start = error.start if isinstance(error, UnicodeDecodeError) else 0
        line = data.count(b"\n", 0, start) + 1
        told = f"not {encoding.upper()} text (line {line})"
        raise DocumentError(path, told, "save it as UTF-8") from error
