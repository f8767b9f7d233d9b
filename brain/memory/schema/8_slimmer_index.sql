DROP TRIGGER chunk_indexed;
DROP TRIGGER chunk_unindexed;
DROP TABLE chunk_word;
DROP TABLE chunk_fts;
CREATE VIRTUAL TABLE chunk_fts USING fts5(
  header, body, context, idents, content='chunk_text', content_rowid='id', tokenize='porter unicode61', detail=none
);
CREATE VIRTUAL TABLE chunk_word USING fts5vocab(chunk_fts, row);
CREATE TRIGGER chunk_indexed AFTER INSERT ON chunk BEGIN
  INSERT INTO chunk_fts(rowid, header, body, context, idents) SELECT id, header, body, context, idents FROM chunk_text WHERE id = new.id;
END;
CREATE TRIGGER chunk_unindexed BEFORE DELETE ON chunk BEGIN
  INSERT INTO chunk_fts(chunk_fts, rowid, header, body, context, idents)
  SELECT 'delete', id, header, body, context, idents FROM chunk_text WHERE id = old.id;
END;

INSERT INTO chunk_fts(chunk_fts) VALUES ('rebuild');
