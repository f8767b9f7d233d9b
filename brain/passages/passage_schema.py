"""The tables that every file of passages has, whatever they are passages of.

A passage is a row of `chunk`, a slice of a text that stands once; what the index knows of it is the
view `chunk_text`. The passages of a session or a document are one range of ids, so that a search
in one is a search in a range. A file has them from its first step on: they stay as they are.
"""

from typing import Final

CHUNK_BITS: Final = 24
"""Bits of a passage's id below the number of its session or document: 16 million for each."""

COLUMNS: Final = "header, body, context, idents"

CHUNK_INDEX: Final = f"""CREATE VIRTUAL TABLE chunk_fts USING fts5(
  {COLUMNS}, content='chunk_text', content_rowid='id', tokenize='porter unicode61'
)"""
"""It keeps no text: what it indexes is read where it stands."""

CHUNK_WORDS: Final = "CREATE VIRTUAL TABLE chunk_word USING fts5vocab(chunk_fts, row)"

INDEX_TABLES: Final = f"""{CHUNK_INDEX};
{CHUNK_WORDS};
CREATE TRIGGER chunk_indexed AFTER INSERT ON chunk BEGIN
  INSERT INTO chunk_fts(rowid, {COLUMNS}) SELECT id, {COLUMNS} FROM chunk_text WHERE id = new.id;
END;
CREATE TRIGGER chunk_unindexed BEFORE DELETE ON chunk BEGIN
  INSERT INTO chunk_fts(chunk_fts, rowid, {COLUMNS})
  SELECT 'delete', id, {COLUMNS} FROM chunk_text WHERE id = old.id;
END;
"""

VECTOR_TABLES: Final = """
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
"""

STATE_TABLE: Final = """
CREATE TABLE state(key TEXT PRIMARY KEY, value INTEGER NOT NULL);
INSERT INTO state(key, value) VALUES ('vector_deletions', 0), ('scrub_due', 0);
"""

WITHOUT_VECTOR: Final = (
    "SELECT count(*) FROM chunk JOIN embedding_model AS model ON model.wanted = 1 "
    "WHERE NOT EXISTS (SELECT 1 FROM embed_job WHERE chunk_id = chunk.id) "
    "AND NOT EXISTS (SELECT 1 FROM embedding "
    "WHERE chunk_id = chunk.id AND model_num = model.num)"
)
"""Counts the passages that have neither a vector nor a job: there may be none."""


def range_of(number: int) -> tuple[int, int]:
    """Return the first and the last id of the passages of a session or document."""
    return number << CHUNK_BITS, ((number + 1) << CHUNK_BITS) - 1
