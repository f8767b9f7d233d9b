"""The tables of the document store.

A section's text stands once; a passage is a slice of it, and what the index knows of it (the
headings, the body, what stands beside it) is a view. The passages of a document are one range of
ids, and a document that is read again gets another range.

``stems`` and ``beside`` are the stems of a passage and of what stands beside it, as `judging` looks
at them: making them anew for each of a hundred passages would take most of a search's time.

The view `session` shows documents as the memory's searches know conversations: outbox, vectors
and full-text search of the memory work on this file too.
"""

import sqlite3
from typing import Final

from kds.brain.database.migrations import FileKind, statements
from kds.brain.passages.passage_schema import (
    CHUNK_INDEX,
    INDEX_TABLES,
    STATE_TABLE,
    VECTOR_TABLES,
    WITHOUT_VECTOR,
)

APPLICATION_ID: Final = 0x4B445344
"""'KDSD': says whose file it is."""

CLAUSE: Final = "#"
"""Before the number of a clause among the keys of terms: no word of a term begins so."""

LONGEST_KEY: Final = 500
"""Characters of the key of a term or a number. A server's index takes no more, and nobody asks for
what is longer."""

BEFORE_CHARACTERS: Final = 300
AFTER_CHARACTERS: Final = 150
"""How much of what stands before and behind a passage in its section goes into the index."""

TABLES: Final = f"""
CREATE TABLE document(
  num INTEGER PRIMARY KEY AUTOINCREMENT,
  id TEXT NOT NULL UNIQUE,
  path TEXT NOT NULL UNIQUE,
  title TEXT NOT NULL,
  kind TEXT NOT NULL CHECK(kind IN ('markdown', 'text', 'html', 'pdf', 'docx')),
  added_at INTEGER NOT NULL,
  modified INTEGER NOT NULL,
  size INTEGER NOT NULL,
  digest TEXT NOT NULL,
  reader INTEGER NOT NULL,
  pages INTEGER,
  section_count INTEGER NOT NULL,
  chunk_count INTEGER NOT NULL,
  token_count INTEGER NOT NULL
);
CREATE VIEW session AS SELECT num, id, path AS document_context, chunk_count FROM document;

CREATE TABLE section(
  num INTEGER PRIMARY KEY,
  document_num INTEGER NOT NULL REFERENCES document(num) ON DELETE CASCADE,
  idx INTEGER NOT NULL,
  label TEXT NOT NULL,
  number TEXT NOT NULL,
  number_key TEXT NOT NULL,
  title TEXT NOT NULL,
  path TEXT NOT NULL,
  page INTEGER,
  first_line INTEGER,
  last_line INTEGER,
  chunk_count INTEGER NOT NULL,
  text TEXT NOT NULL,
  UNIQUE(document_num, idx)
);
CREATE INDEX section_by_number ON section(number_key) WHERE number_key <> '';

CREATE TABLE chunk(
  id INTEGER PRIMARY KEY,
  section_num INTEGER NOT NULL REFERENCES section(num) ON DELETE CASCADE,
  kind TEXT NOT NULL CHECK(kind IN ('prose', 'definition', 'table', 'code')),
  start INTEGER NOT NULL,
  length INTEGER NOT NULL,
  header TEXT NOT NULL,
  columns TEXT NOT NULL,
  terms TEXT NOT NULL,
  idents TEXT NOT NULL,
  stems TEXT NOT NULL,
  beside TEXT NOT NULL,
  page INTEGER,
  first_line INTEGER,
  last_line INTEGER,
  tokens INTEGER NOT NULL
);
CREATE INDEX chunk_by_section ON chunk(section_num);

CREATE TABLE term(
  chunk_id INTEGER NOT NULL REFERENCES chunk(id) ON DELETE CASCADE,
  key TEXT NOT NULL,
  term TEXT NOT NULL,
  strength REAL NOT NULL,
  label TEXT NOT NULL,
  refers TEXT NOT NULL,
  PRIMARY KEY(chunk_id, key)
) WITHOUT ROWID;
CREATE INDEX term_by_key ON term(key);

CREATE VIEW chunk_text AS
SELECT chunk.id AS id, chunk.header AS header,
  substr(section.text, chunk.start + 1, chunk.length) AS body,
  CASE chunk.kind WHEN 'definition' THEN '' ELSE
    substr(section.text, max(chunk.start - {BEFORE_CHARACTERS}, 0) + 1,
      min(chunk.start, {BEFORE_CHARACTERS})) || char(10)
    || substr(section.text, chunk.start + chunk.length + 1, {AFTER_CHARACTERS}) || char(10)
  END || chunk.columns AS context,
  chunk.idents AS idents
FROM chunk JOIN section ON section.num = chunk.section_num;

{INDEX_TABLES}
{VECTOR_TABLES.strip()}

{STATE_TABLE.strip()}
"""


def begin(connection: sqlite3.Connection) -> None:
    """Version 1: all tables (issue 6)."""
    for statement in statements(TABLES):
        connection.execute(statement)
    connection.execute(f"PRAGMA application_id = {APPLICATION_ID}")


CONTRADICTIONS: Final = {
    "documents count their sections wrong": (
        "SELECT count(*) FROM document WHERE section_count <> "
        "(SELECT count(*) FROM section WHERE document_num = document.num)"
    ),
    "documents count their passages wrong": (
        "SELECT count(*) FROM document WHERE chunk_count <> (SELECT count(*) FROM chunk "
        "JOIN section ON section.num = chunk.section_num WHERE document_num = document.num)"
    ),
    "passages stand outside the range of their document": (
        "SELECT count(*) FROM chunk JOIN section ON section.num = chunk.section_num "
        "WHERE chunk.id >> 24 <> document_num"
    ),
    "passages reach beyond their section": (
        "SELECT count(*) FROM chunk JOIN section ON section.num = chunk.section_num "
        "WHERE start < 0 OR start + length > length(text)"
    ),
    "passages have neither a vector nor a job": WITHOUT_VECTOR,
}
"""What may not be, in whichever engine, and the question that counts how often it is."""

DOCUMENTS: Final = FileKind(
    "the document store",
    APPLICATION_ID,
    {"chunk_fts": CHUNK_INDEX},
    rebuild="kds docs check",
    migrations=(begin,),
    contradictions=CONTRADICTIONS,
)
