CREATE TABLE {schema}.common_word(
  {owned},
  word uuid NOT NULL,
  passages bigint NOT NULL,
  PRIMARY KEY(tenant, word)
);

CREATE INDEX embed_job_by_turn ON {schema}.embed_job(tenant, next_at, chunk_id);
DROP INDEX {schema}.embed_job_by_time;
