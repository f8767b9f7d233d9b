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
from collections.abc import Sequence
from typing import Final

from kds.brain.database.file_kind import FileKind
from kds.brain.database.migrations import Migration, statements

APPLICATION_ID: Final = 0x4B445344
"""'KDSD': says whose file it is."""

CHUNK_BITS: Final = 24
"""Bits of a passage's id below the number of its document: as the memory's vectors expect."""

CLAUSE: Final = "#"
"""Before the number of a clause among the keys of terms: no word of a term begins so."""

BEFORE_CHARACTERS: Final = 300
AFTER_CHARACTERS: Final = 150
"""How much of what stands before and behind a passage in its section goes into the index."""

COLUMNS: Final = "header, body, context, idents"

INDEXES: Final = {
    "chunk_fts": f"""CREATE VIRTUAL TABLE chunk_fts USING fts5(
  {COLUMNS}, content='chunk_text', content_rowid='id', tokenize='porter unicode61'
)""",
}

DOCUMENTS: Final = FileKind("the document store", APPLICATION_ID, INDEXES, rebuild="kds docs check")

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

{INDEXES["chunk_fts"]};
CREATE VIRTUAL TABLE chunk_word USING fts5vocab(chunk_fts, row);
CREATE TRIGGER chunk_indexed AFTER INSERT ON chunk BEGIN
  INSERT INTO chunk_fts(rowid, {COLUMNS}) SELECT id, {COLUMNS} FROM chunk_text WHERE id = new.id;
END;
CREATE TRIGGER chunk_unindexed BEFORE DELETE ON chunk BEGIN
  INSERT INTO chunk_fts(chunk_fts, rowid, {COLUMNS})
  SELECT 'delete', id, {COLUMNS} FROM chunk_text WHERE id = old.id;
END;

CREATE TABLE embedding_model(
  num INTEGER PRIMARY KEY AUTOINCREMENT,
  name TEXT NOT NULL UNIQUE,
  dimensions INTEGER,
  serving INTEGER NOT NULL,
  wanted INTEGER NOT NULL
);
CREATE TABLE embedding(
  num INTEGER PRIMARY KEY AUTOINCREMENT,
  chunk_id INTEGER NOT NULL REFERENCES chunk(id) ON DELETE CASCADE,
  model_num INTEGER NOT NULL REFERENCES embedding_model(num) ON DELETE CASCADE,
  f16 BLOB NOT NULL
);
CREATE UNIQUE INDEX embedding_by_chunk ON embedding(chunk_id, model_num);
CREATE TABLE embed_job(
  chunk_id INTEGER PRIMARY KEY REFERENCES chunk(id) ON DELETE CASCADE,
  attempts INTEGER NOT NULL DEFAULT 0,
  next_at INTEGER,
  error TEXT
);
CREATE INDEX embed_job_by_time ON embed_job(next_at);

CREATE TABLE state(key TEXT PRIMARY KEY, value INTEGER NOT NULL);
INSERT INTO state(key, value) VALUES ('vector_deletions', 0), ('scrub_due', 0);
"""


def begin(connection: sqlite3.Connection) -> None:
    """Version 1: all tables (issue 6)."""
    for statement in statements(TABLES):
        connection.execute(statement)
    connection.execute(f"PRAGMA application_id = {APPLICATION_ID}")


MIGRATIONS: Final[Sequence[Migration]] = (begin,)
"""Only ever added to at the end."""
