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
CREATE VIRTUAL TABLE item_fts USING fts5(
  text, content='item_text', content_rowid='num', tokenize='porter unicode61'
);
CREATE TRIGGER item_indexed AFTER INSERT ON item_text BEGIN
  INSERT INTO item_fts(rowid, text) VALUES (new.num, new.text);
END;
CREATE TRIGGER item_unindexed BEFORE DELETE ON item_text BEGIN
  INSERT INTO item_fts(item_fts, rowid, text) VALUES ('delete', old.num, old.text);
END;
