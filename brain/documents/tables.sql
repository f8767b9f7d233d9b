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
    substr(section.text, max(chunk.start - {before}, 0) + 1,
      min(chunk.start, {before})) || char(10)
    || substr(section.text, chunk.start + chunk.length + 1, {after}) || char(10)
  END || chunk.columns AS context,
  chunk.idents AS idents
FROM chunk JOIN section ON section.num = chunk.section_num;

CREATE VIRTUAL TABLE chunk_fts USING fts5(
  header, body, context, idents, content='chunk_text', content_rowid='id', tokenize='porter unicode61'
);
CREATE VIRTUAL TABLE chunk_word USING fts5vocab(chunk_fts, row);
CREATE TRIGGER chunk_indexed AFTER INSERT ON chunk BEGIN
  INSERT INTO chunk_fts(rowid, header, body, context, idents) SELECT id, header, body, context, idents FROM chunk_text WHERE id = new.id;
END;
CREATE TRIGGER chunk_unindexed BEFORE DELETE ON chunk BEGIN
  INSERT INTO chunk_fts(chunk_fts, rowid, header, body, context, idents)
  SELECT 'delete', id, header, body, context, idents FROM chunk_text WHERE id = old.id;
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

PRAGMA application_id = {application_id};
