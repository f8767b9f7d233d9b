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
