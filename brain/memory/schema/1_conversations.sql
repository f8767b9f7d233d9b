CREATE TABLE session(
  num INTEGER PRIMARY KEY AUTOINCREMENT,
  id TEXT NOT NULL UNIQUE,
  title TEXT NOT NULL,
  title_given INTEGER NOT NULL,
  created_at INTEGER NOT NULL,
  updated_at INTEGER NOT NULL,
  document_context TEXT,
  message_count INTEGER NOT NULL DEFAULT 0,
  token_count INTEGER NOT NULL DEFAULT 0,
  chunk_count INTEGER NOT NULL DEFAULT 0
);
CREATE INDEX session_by_change ON session(updated_at DESC, num DESC);

CREATE TABLE message(
  num INTEGER PRIMARY KEY,
  id TEXT NOT NULL UNIQUE,
  session_num INTEGER NOT NULL REFERENCES session(num) ON DELETE CASCADE,
  seq INTEGER NOT NULL,
  role TEXT NOT NULL CHECK(role IN ('user', 'assistant', 'system', 'tool')),
  speaker TEXT,
  content TEXT NOT NULL,
  at INTEGER NOT NULL,
  tokens INTEGER NOT NULL,
  UNIQUE(session_num, seq)
);

CREATE TABLE chunk(
  id INTEGER PRIMARY KEY,
  message_num INTEGER NOT NULL REFERENCES message(num) ON DELETE CASCADE,
  kind TEXT NOT NULL CHECK(kind IN ('prose', 'code')),
  language TEXT,
  header TEXT NOT NULL,
  start INTEGER NOT NULL,
  length INTEGER NOT NULL,
  idents TEXT NOT NULL,
  tokens INTEGER NOT NULL
);
CREATE INDEX chunk_by_message ON chunk(message_num);

CREATE VIEW chunk_text AS
SELECT chunk.id AS id, chunk.header AS header,
  substr(message.content, chunk.start + 1, chunk.length) AS body,
  coalesce((SELECT substr(content, 1, 300) || char(10) FROM message AS earlier
    WHERE earlier.session_num = message.session_num AND earlier.seq = message.seq - 2), '')
  || coalesce((SELECT substr(content, 1, 300) FROM message AS earlier
    WHERE earlier.session_num = message.session_num AND earlier.seq = message.seq - 1), '')
  AS context,
  chunk.idents AS idents
FROM chunk JOIN message ON message.num = chunk.message_num;

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

CREATE TABLE summary(
  num INTEGER PRIMARY KEY AUTOINCREMENT,
  session_num INTEGER NOT NULL REFERENCES session(num) ON DELETE CASCADE,
  first_seq INTEGER NOT NULL,
  last_seq INTEGER NOT NULL,
  text TEXT NOT NULL,
  at INTEGER NOT NULL,
  kind TEXT NOT NULL CHECK(kind IN ('rolling', 'periodic'))
);
CREATE INDEX summary_by_session ON summary(session_num, num);
CREATE VIRTUAL TABLE summary_fts USING fts5(
  text, content='summary', content_rowid='num', tokenize='porter unicode61'
);
CREATE TRIGGER summary_indexed AFTER INSERT ON summary BEGIN
  INSERT INTO summary_fts(rowid, text) VALUES (new.num, new.text);
END;
CREATE TRIGGER summary_unindexed BEFORE DELETE ON summary BEGIN
  INSERT INTO summary_fts(summary_fts, rowid, text) VALUES ('delete', old.num, old.text);
END;

CREATE TABLE entity_memory(
  key TEXT PRIMARY KEY,
  documents TEXT NOT NULL,
  sections TEXT NOT NULL,
  turn_count INTEGER NOT NULL,
  expires_at INTEGER NOT NULL
);
CREATE INDEX entity_memory_by_expiry ON entity_memory(expires_at);
CREATE TABLE entity(
  key TEXT NOT NULL REFERENCES entity_memory(key) ON DELETE CASCADE,
  term TEXT NOT NULL,
  snippet TEXT NOT NULL,
  turn INTEGER NOT NULL,
  PRIMARY KEY(key, term)
);

CREATE TABLE profile(field TEXT PRIMARY KEY, value TEXT NOT NULL);
CREATE TABLE profile_vector(
  model TEXT NOT NULL, field TEXT NOT NULL, f16 BLOB NOT NULL, PRIMARY KEY(model, field)
);
CREATE TABLE consent_event(
  num INTEGER PRIMARY KEY AUTOINCREMENT,
  at INTEGER NOT NULL,
  action TEXT NOT NULL CHECK(action IN ('granted', 'revoked', 'changed', 'used')),
  purpose TEXT NOT NULL
);

CREATE TABLE metric(
  num INTEGER PRIMARY KEY, at INTEGER NOT NULL, name TEXT NOT NULL, data TEXT NOT NULL
);
CREATE INDEX metric_by_time ON metric(at);

CREATE TABLE state(key TEXT PRIMARY KEY, value INTEGER NOT NULL);
INSERT INTO state(key, value) VALUES ('vector_deletions', 0), ('scrub_due', 0);
PRAGMA application_id = 1262768973;
