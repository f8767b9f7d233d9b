"""The tables of documents on a server: those of `brain/documents/document_schema.py`, with a tenant
in every row. They share names with those of conversations, and so have a schema of their own.
"""

from typing import Final

from kds.brain.documents.document_schema import AFTER_CHARACTERS, BEFORE_CHARACTERS
from kds.brain.postgres.passage_tables import (
    VECTOR_TABLES,
    ranked,
    search_functions,
    vector_tables,
)
from kds.brain.postgres.row_security import MEMBER, OWNED, kept_apart

SCHEMA: Final = "kds_documents"

_TABLES: Final = f"""
CREATE SCHEMA {SCHEMA};

CREATE TABLE {SCHEMA}.document(
  num bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  {OWNED},
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
  UNIQUE(tenant, id)
);
CREATE VIEW {SCHEMA}.session WITH (security_invoker = true) AS
SELECT num, id, path AS document_context, chunk_count, token_count, word_count
FROM {SCHEMA}.document;

CREATE TABLE {SCHEMA}.section(
  num bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  {OWNED},
  document_num bigint NOT NULL REFERENCES {SCHEMA}.document ON DELETE CASCADE,
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
CREATE INDEX section_by_number ON {SCHEMA}.section(tenant, number_key);

CREATE TABLE {SCHEMA}.chunk(
  id bigint PRIMARY KEY,
  {OWNED},
  section_num bigint NOT NULL REFERENCES {SCHEMA}.section ON DELETE CASCADE,
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
CREATE INDEX chunk_by_section ON {SCHEMA}.chunk(section_num);
CREATE INDEX chunk_words ON {SCHEMA}.chunk USING gin(words);

CREATE TABLE {SCHEMA}.term(
  chunk_id bigint NOT NULL REFERENCES {SCHEMA}.chunk ON DELETE CASCADE,
  {OWNED},
  key text COLLATE "C" NOT NULL,
  term text NOT NULL,
  strength float8 NOT NULL,
  label text NOT NULL,
  refers text NOT NULL,
  PRIMARY KEY(chunk_id, key)
);
CREATE INDEX term_by_key ON {SCHEMA}.term(tenant, key);

CREATE VIEW {SCHEMA}.chunk_text WITH (security_invoker = true) AS
SELECT chunk.id AS id, chunk.header AS header,
  substr(section.text, chunk.start + 1, chunk.length) AS body,
  CASE chunk.kind WHEN 'definition' THEN '' ELSE
    substr(section.text, greatest(chunk.start - {BEFORE_CHARACTERS}, 0) + 1,
      least(chunk.start, {BEFORE_CHARACTERS})) || chr(10)
    || substr(section.text, chunk.start + chunk.length + 1, {AFTER_CHARACTERS}) || chr(10)
  END || chunk.columns AS context,
  chunk.idents AS idents
FROM {SCHEMA}.chunk JOIN {SCHEMA}.section ON section.num = chunk.section_num;
GRANT SELECT ON {SCHEMA}.session, {SCHEMA}.chunk_text TO {MEMBER};
"""
"""A path is unique because the id is that is made of it: an index could not take the longest."""

DOCUMENT_TABLES: Final = (
    _TABLES,
    vector_tables(SCHEMA),
    ranked(SCHEMA),
    search_functions(SCHEMA),
    kept_apart(SCHEMA, ("document", "section", "chunk", "term", *VECTOR_TABLES)),
)
