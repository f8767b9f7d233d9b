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
CREATE VIRTUAL TABLE chunk_fts USING fts5(
  header, body, context, idents, content='chunk_text', content_rowid='id', tokenize='porter unicode61', detail=column
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
