DROP TRIGGER summary_indexed;
DROP TRIGGER summary_unindexed;
DROP TABLE summary_fts;
