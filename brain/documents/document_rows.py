"""Rows of the tables as values, which have their fields in the order of the columns."""

import json
from typing import Final

from kds.brain.database.instant import from_micros
from kds.brain.documents.document_values import Document, Passage, Section
from kds.brain.passages.rows import Row

DOCUMENT_COLUMNS: Final = (
    "id, path, title, kind, added_at, modified, size, digest, section_count, chunk_count, pages"
)
SECTION_COLUMNS: Final = (
    "document.id, idx, number, section.title, section.path, page, first_line, last_line, "
    "section.chunk_count, text"
)
PASSAGE_COLUMNS: Final = (
    "chunk.id, document.id, document.path, document.title, section.path, section.idx, number, "
    "chunk.page, chunk.first_line, chunk.last_line, chunk.kind, "
    "substr(section.text, start + 1, length), terms, tokens"
)
PASSAGE_TABLES: Final = (
    "chunk JOIN section ON section.num = chunk.section_num "
    "JOIN document ON document.num = section.document_num"
)
CANDIDATE_COLUMNS: Final = (
    "chunk.id, document.id, document.title, section.path, tokens, stems, beside"
)


def document_of(row: Row) -> Document:
    """Read DOCUMENT_COLUMNS."""
    name, path, title, kind, added, modified, *rest = row
    return Document(name, path, title, kind, from_micros(added), from_micros(modified), *rest)


def section_of(row: Row) -> Section:
    """Read SECTION_COLUMNS."""
    document, index, number, title, path, *rest = row
    return Section(document, index, number, title, tuple(json.loads(path)), *rest)


def passage_of(row: Row) -> Passage:
    """Read PASSAGE_COLUMNS."""
    section, terms = (tuple(json.loads(row[at])) for at in (4, 12))
    values = (*row[:4], section, *row[5:12], terms, *row[13:])
    return Passage(*values)
