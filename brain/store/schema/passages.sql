CREATE TABLE {schema}.embedding_model(
  num bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  {owned},
  name text COLLATE "C" NOT NULL,
  dimensions int,
  serving int NOT NULL,
  wanted int NOT NULL,
  UNIQUE(tenant, name)
);
CREATE TABLE {schema}.embedding(
  chunk_id bigint NOT NULL REFERENCES {schema}.chunk ON DELETE CASCADE,
  model_num bigint NOT NULL REFERENCES {schema}.embedding_model ON DELETE CASCADE,
  {owned},
  vector halfvec NOT NULL,
  PRIMARY KEY(chunk_id, model_num)
);
CREATE INDEX embedding_by_model ON {schema}.embedding(model_num);
CREATE INDEX embedding_by_tenant ON {schema}.embedding(tenant);
CREATE TABLE {schema}.embed_job(
  chunk_id bigint PRIMARY KEY REFERENCES {schema}.chunk ON DELETE CASCADE,
  {owned},
  attempts int NOT NULL DEFAULT 0,
  next_at bigint,
  error text
);
CREATE INDEX embed_job_by_turn ON {schema}.embed_job(tenant, next_at, chunk_id);

CREATE FUNCTION {schema}.ranked(
  driving tsquery, asked tsquery[], idfs float8[], weights float4[], mean float8, most int
) RETURNS TABLE(id bigint, score float8)
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = pg_catalog AS $$
BEGIN
  RETURN QUERY EXECUTE 'SELECT passage.id, sum(idf * f * 2.2 / (f + 1.2 * (0.25 + 0.75 * size / $5))) AS score
    FROM (SELECT id, size, words FROM {schema}.chunk WHERE tenant = $7 AND words @@ $1) AS passage
    JOIN unnest($2, $3) AS asked(query, idf) ON passage.words @@ query
    CROSS JOIN LATERAL (SELECT ts_rank_cd($4, passage.words, query) * $8) AS counted(f)
    GROUP BY passage.id ORDER BY score DESC, passage.id LIMIT $6'
    USING ('''tenant:' || kds.tenant() || '''')::tsquery && driving,
      asked, idfs, weights, mean, most, kds.tenant(), coalesce(weights[5], 1)::float8;
END $$;

CREATE FUNCTION {schema}.frequencies(asked tsquery[]) RETURNS TABLE(passages bigint)
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = pg_catalog AS $$
DECLARE one tsquery;
BEGIN
  FOREACH one IN ARRAY asked LOOP
    RETURN QUERY EXECUTE 'SELECT count(*) FROM {schema}.chunk WHERE tenant = $2 AND words @@ $1'
      USING ('''tenant:' || kds.tenant() || '''')::tsquery && one, kds.tenant();
  END LOOP;
END $$;

CREATE FUNCTION {schema}.index_vectors(width int) RETURNS void
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog AS $$
BEGIN
  IF width BETWEEN 1 AND 4000 THEN
    EXECUTE format('CREATE INDEX IF NOT EXISTS embedding_%s ON {schema}.embedding USING hnsw
      ((vector::public.halfvec(%s)) public.halfvec_cosine_ops)
      WHERE public.vector_dims(vector) = %s', width, width, width);
  END IF;
END $$;

REVOKE ALL ON FUNCTION {schema}.ranked, {schema}.frequencies, {schema}.index_vectors FROM PUBLIC;
GRANT USAGE ON SCHEMA {schema} TO kds_member;
GRANT EXECUTE ON FUNCTION
  {schema}.ranked, {schema}.frequencies, {schema}.index_vectors TO kds_member;
