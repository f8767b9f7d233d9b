CREATE SCHEMA kds_documents;

CREATE TABLE kds_documents.document(
  num bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  {owned},
  id text COLLATE "C" NOT NULL,
  path text COLLATE "C" NOT NULL,
  title text NOT NULL,
  kind text NOT NULL CHECK(kind IN ('markdown', 'text', 'html', 'pdf', 'docx')),
  added_at bigint NOT NULL,
  modified bigint NOT NULL,
  size bigint NOT NULL,
  digest text NOT NULL,
  reader int NOT NULL,
  pages int,
  section_count int NOT NULL,
  chunk_count int NOT NULL,
  token_count bigint NOT NULL,
  word_count bigint NOT NULL DEFAULT 0,
  added_by text DEFAULT nullif(current_setting('kds.person', true), ''),
  UNIQUE(tenant, id)
);
CREATE VIEW kds_documents.session WITH (security_invoker = true) AS
SELECT num, id, path AS document_context, chunk_count, token_count, word_count
FROM kds_documents.document;

CREATE TABLE kds_documents.section(
  num bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  {owned},
  document_num bigint NOT NULL REFERENCES kds_documents.document ON DELETE CASCADE,
  idx int NOT NULL,
  label text NOT NULL,
  number text NOT NULL,
  number_key text COLLATE "C" NOT NULL,
  title text NOT NULL,
  path text NOT NULL,
  page int,
  first_line int,
  last_line int,
  chunk_count int NOT NULL,
  text text NOT NULL,
  UNIQUE(document_num, idx)
);
CREATE INDEX section_by_number ON kds_documents.section(tenant, number_key);

CREATE TABLE kds_documents.chunk(
  id bigint PRIMARY KEY,
  {owned},
  section_num bigint NOT NULL REFERENCES kds_documents.section ON DELETE CASCADE,
  kind text NOT NULL CHECK(kind IN ('prose', 'definition', 'table', 'code')),
  start int NOT NULL,
  length int NOT NULL,
  header text NOT NULL,
  columns text NOT NULL,
  terms text NOT NULL,
  idents text NOT NULL,
  stems text NOT NULL,
  beside text NOT NULL,
  page int,
  first_line int,
  last_line int,
  tokens int NOT NULL,
  size int NOT NULL DEFAULT 0,
  words tsvector NOT NULL DEFAULT ''
);
CREATE INDEX chunk_by_section ON kds_documents.chunk(section_num);
CREATE INDEX chunk_by_tenant ON kds_documents.chunk(tenant);
CREATE INDEX chunk_words ON kds_documents.chunk USING gin(words);

CREATE TABLE kds_documents.term(
  chunk_id bigint NOT NULL REFERENCES kds_documents.chunk ON DELETE CASCADE,
  {owned},
  key text COLLATE "C" NOT NULL,
  term text NOT NULL,
  strength float8 NOT NULL,
  label text NOT NULL,
  refers text NOT NULL,
  PRIMARY KEY(chunk_id, key)
);
CREATE INDEX term_by_key ON kds_documents.term(tenant, key);

CREATE VIEW kds_documents.chunk_text WITH (security_invoker = true) AS
SELECT chunk.id AS id, chunk.header AS header,
  substr(section.text, chunk.start + 1, chunk.length) AS body,
  CASE chunk.kind WHEN 'definition' THEN '' ELSE
    substr(section.text, greatest(chunk.start - 300, 0) + 1,
      least(chunk.start, 300)) || chr(10)
    || substr(section.text, chunk.start + chunk.length + 1, 150) || chr(10)
  END || chunk.columns AS context,
  chunk.idents AS idents
FROM kds_documents.chunk JOIN kds_documents.section ON section.num = chunk.section_num;
GRANT SELECT ON kds_documents.session, kds_documents.chunk_text TO kds_member;
