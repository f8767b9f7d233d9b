"""Rows of the tables: stored, and read as values with their fields in the order of the columns."""

import json
from collections.abc import Iterable, Sequence
from typing import Final

from kds.brain.documents.document_values import Document, Passage, Section
from kds.brain.passages.schema import Row, insert, marks, range_of
from kds.brain.store.columns import from_micros
from kds.brain.store.engine import Connection

DOCUMENT_FIELDS: Final = (
    "id, path, title, kind, added_at, modified, size, digest, reader, pages, section_count, "
    "chunk_count, token_count"
)
SECTION_FIELDS: Final = (
    "idx, label, number, number_key, title, path, page, first_line, last_line, chunk_count, text"
)
CHUNK_FIELDS: Final = (
    "header, kind, start, length, columns, terms, idents, stems, beside, page, first_line, "
    "last_line, tokens"
)
TERM_FIELDS: Final = "key, term, strength, label, refers"

PassageRows = tuple[int, Row, Sequence[Row]]
"""Of a passage: which section of the document it is of, from 0, its row but for the ids, and the
rows of its terms."""

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


def insert_document(
    connection: Connection, document: Row, sections: Iterable[Row], clash: str = ""
) -> int | None:
    """Insert a document with its sections; returns its number, None where ``clash`` bars it."""
    row = connection.execute(
        f"INSERT INTO document({DOCUMENT_FIELDS}) VALUES ({marks(document)}) {clash} RETURNING num",
        document,
    ).fetchone()
    if row is None:
        return None
    placed = [(row[0], *section) for section in sections]
    insert(connection, "section", f"document_num, {SECTION_FIELDS}", placed)
    return int(row[0])


def insert_passages(
    connection: Connection, number: int, passages: Sequence[PassageRows], index_names: str
) -> list[int]:
    """Insert the passages of a document in order, with what the index has; returns their ids."""
    query = "SELECT idx, num FROM section WHERE document_num = ?"
    sections = dict(connection.execute(query, (number,)))
    placed = list(enumerate(passages, range_of(number)[0]))
    chunks = [(chunk_id, sections[section], *row) for chunk_id, (section, row, _) in placed]
    insert(connection, "chunk", f"id, section_num, {CHUNK_FIELDS}{index_names}", chunks)
    terms = [(chunk_id, *term) for chunk_id, (_, _, terms) in placed for term in terms]
    insert(connection, "term", f"chunk_id, {TERM_FIELDS}", terms, "ON CONFLICT DO NOTHING")
    return [chunk_id for chunk_id, _ in placed]


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
