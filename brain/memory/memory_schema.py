"""The tables, as they are now. Older files get here by `migrations`.

`message` holds every text once: a chunk is a slice of its message, and what the index knows of
a chunk is a view. 100k messages of 430 characters with vectors take 210 MB; with copies of both
they would take 85 MB more. The index notes in which column of which chunk a word stands, not where
in it, which keeps it below half of the messages' size.

A session's chunks are one range of ids, so that a search in one conversation is a search in a
range. Times are microseconds since 1970.
"""

from typing import Final

from kds.brain.passages.passage_schema import (
    CHUNK_INDEX,
    CHUNK_WORDS,
    INDEX_TABLES,
    STATE_TABLE,
    VECTOR_TABLES,
    WITHOUT_VECTOR,
)
from kds.brain.store.migrations import FileKind

APPLICATION_ID: Final = 0x4B44534D
"""'KDSM': says whose file it is."""

CONTEXT_CHARACTERS: Final = 300
"""How much of each of the two messages before goes into the index of a chunk. Of the
messages of the LoCoMo dialogues 96 % are shorter; of long answers it is the opening."""

SLIM_INDEX: Final = CHUNK_INDEX.replace(
    "tokenize='porter unicode61'", "tokenize='porter unicode61', detail=column"
)
"""Since version 3: without the places of words, 0.45 times the size of the messages, it was 1.17
(749 messages of 1,780 characters). LoCoMo's recall@10 stays at .823."""

_FIRST_INDEXES: Final = {
    "chunk_fts": CHUNK_INDEX,
    "summary_fts": """CREATE VIRTUAL TABLE summary_fts USING fts5(
  text, content='summary', content_rowid='num', tokenize='porter unicode61'
)""",
    "item_fts": """CREATE VIRTUAL TABLE item_fts USING fts5(
  text, content='item_text', content_rowid='num', tokenize='porter unicode61'
)""",
}
INDEXES: Final = _FIRST_INDEXES | {"chunk_fts": SLIM_INDEX}
"""The full-text indexes. They keep no text: what they index is read where it stands."""

TABLES: Final = f"""
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
  coalesce((SELECT substr(content, 1, {CONTEXT_CHARACTERS}) || char(10) FROM message AS earlier
    WHERE earlier.session_num = message.session_num AND earlier.seq = message.seq - 2), '')
  || coalesce((SELECT substr(content, 1, {CONTEXT_CHARACTERS}) FROM message AS earlier
    WHERE earlier.session_num = message.session_num AND earlier.seq = message.seq - 1), '')
  AS context,
  chunk.idents AS idents
FROM chunk JOIN message ON message.num = chunk.message_num;

{INDEX_TABLES}
{VECTOR_TABLES.strip()}

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
{_FIRST_INDEXES["summary_fts"]};
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

{STATE_TABLE.strip()}
PRAGMA application_id = {APPLICATION_ID};
"""
"""Version 1."""

ITEM_TABLES: Final = f"""
CREATE TABLE item(
  num INTEGER PRIMARY KEY AUTOINCREMENT,
  namespace TEXT NOT NULL,
  key TEXT NOT NULL,
  value TEXT NOT NULL,
  created_at INTEGER NOT NULL,
  updated_at INTEGER NOT NULL,
  lifetime INTEGER,
  expires_at INTEGER,
  UNIQUE(namespace, key)
);
CREATE TABLE item_text(
  num INTEGER PRIMARY KEY AUTOINCREMENT,
  item_num INTEGER NOT NULL REFERENCES item(num) ON DELETE CASCADE,
  text TEXT NOT NULL,
  model TEXT,
  f16 BLOB
);
CREATE INDEX item_text_by_item ON item_text(item_num);
{_FIRST_INDEXES["item_fts"]};
CREATE TRIGGER item_indexed AFTER INSERT ON item_text BEGIN
  INSERT INTO item_fts(rowid, text) VALUES (new.num, new.text);
END;
CREATE TRIGGER item_unindexed BEFORE DELETE ON item_text BEGIN
  INSERT INTO item_fts(item_fts, rowid, text) VALUES ('delete', old.num, old.text);
END;
"""
"""Since version 2: values of a LangGraph store that KDS had. Nothing reads them any longer."""

SLIM_TABLES: Final = f"""
DROP TRIGGER chunk_indexed;
DROP TRIGGER chunk_unindexed;
DROP TABLE chunk_word;
DROP TABLE chunk_fts;
DROP VIEW chunk_text;
DELETE FROM chunk WHERE message_num IN (SELECT num FROM message WHERE role = 'system');
CREATE VIEW chunk_text AS
SELECT chunk.id AS id, chunk.header AS header,
  substr(message.content, chunk.start + 1, chunk.length) AS body,
  '' AS context,
  chunk.idents AS idents
FROM chunk JOIN message ON message.num = chunk.message_num;
{INDEX_TABLES.replace(CHUNK_INDEX, SLIM_INDEX)}
INSERT INTO chunk_fts(chunk_fts) VALUES ('rebuild');
"""
"""Version 3: the index neither repeats the messages before, nor knows what the system said."""

SUMMARY_VECTORS: Final = """
CREATE TABLE summary_vector(
  summary_num INTEGER PRIMARY KEY REFERENCES summary(num) ON DELETE CASCADE,
  model TEXT NOT NULL,
  f16 BLOB NOT NULL
);
"""
"""Since version 4: what periodic summaries mean."""

CONTRADICTIONS: Final = {
    "messages are missing in the middle of a session": (
        "SELECT count(*) FROM session WHERE message_count <> "
        "(SELECT count(*) FROM message WHERE session_num = session.num) OR message_count <> "
        "coalesce((SELECT max(seq) FROM message WHERE session_num = session.num), 0)"
    ),
    "sessions count their tokens wrong": (
        "SELECT count(*) FROM session WHERE token_count <> "
        "coalesce((SELECT sum(tokens) FROM message WHERE session_num = session.num), 0)"
    ),
    "chunks stand outside the range of their session": (
        "SELECT count(*) FROM chunk JOIN message ON message.num = chunk.message_num "
        "WHERE chunk.id >> 24 <> session_num"
    ),
    "chunks have neither a vector nor a job": WITHOUT_VECTOR,
}
"""What may not be, in whichever engine, and the question that counts how often it is."""

UNCUT: Final = "messages are not cut into chunks"

_IN_A_FILE: Final = {
    UNCUT: (
        "SELECT count(*) FROM message WHERE trim(content, char(9, 10, 32)) <> '' "
        "AND role <> 'system' "
        "AND NOT EXISTS (SELECT 1 FROM chunk WHERE message_num = message.num)"
    ),
}


MEMORY: Final = FileKind(
    "the memory",
    APPLICATION_ID,
    INDEXES,
    {"chunk_word": CHUNK_WORDS},
    rebuild="kds memory check --rebuild",
    migrations=(TABLES, ITEM_TABLES, SLIM_TABLES, SUMMARY_VECTORS),
    contradictions=CONTRADICTIONS | _IN_A_FILE,
)
