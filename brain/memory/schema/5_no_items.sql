DROP TRIGGER item_indexed;
DROP TRIGGER item_unindexed;
DROP TABLE item_fts;
DROP TABLE item_text;
DROP TABLE item;
