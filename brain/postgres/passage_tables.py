"""The tables and functions that every schema of passages has, whatever they are passages of.

`ranked` and `frequencies` read past the row policies, because an index on words cannot be used
under them (``@@`` is not leakproof). A lexeme "tenant:N" stands in every ``words``, so that the
index itself narrows a search to the tenant.
"""

from typing import Final

from kds.brain.postgres.row_security import MEMBER, OWNED

VECTOR_TABLES: Final = ("embedding_model", "embedding", "embed_job")


def vector_tables(schema: str) -> str:
    """Return the tables of models, vectors and the outbox, beside a table of passages."""
    return f"""
CREATE TABLE {schema}.embedding_model(
  num bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  {OWNED},
  name text COLLATE "C" NOT NULL,
  dimensions int,
  serving int NOT NULL,
  wanted int NOT NULL,
  UNIQUE(tenant, name)
);
CREATE TABLE {schema}.embedding(
  chunk_id bigint NOT NULL REFERENCES {schema}.chunk ON DELETE CASCADE,
  model_num bigint NOT NULL REFERENCES {schema}.embedding_model ON DELETE CASCADE,
  {OWNED},
  vector halfvec NOT NULL,
  PRIMARY KEY(chunk_id, model_num)
);
CREATE INDEX embedding_by_model ON {schema}.embedding(model_num);
CREATE TABLE {schema}.embed_job(
  chunk_id bigint PRIMARY KEY REFERENCES {schema}.chunk ON DELETE CASCADE,
  {OWNED},
  attempts int NOT NULL DEFAULT 0,
  next_at bigint,
  error text
);
CREATE INDEX embed_job_by_time ON {schema}.embed_job(tenant, next_at);
"""


def outbox_index(schema: str) -> str:
    """Return the index that gives the next jobs of many without sorting them."""
    return f"""
CREATE INDEX embed_job_by_turn ON {schema}.embed_job(tenant, next_at, chunk_id);
DROP INDEX {schema}.embed_job_by_time;
"""


def scored(
    passages: str, *, asked: str, idfs: str, weights: str, unit: str, mean: str, most: str
) -> str:
    """Return the SQL that ranks passages, each value as it is named or marked there.

    BM25 with k1 = 1.2 and b = 0.75, as SQLite's FTS5 has it: of a single term ``ts_rank_cd`` is the
    sum of the weights of its places, which is what FTS5 counts. It takes no weight above 1: they
    are so many times the ``unit``. In one statement: a function's call a passage takes three times
    as long.
    """
    return (
        f"SELECT passage.id, sum(idf * f * 2.2 / (f + 1.2 * (0.25 + 0.75 * size / {mean}))) "
        f"AS score FROM ({passages}) AS passage "
        f"JOIN unnest({asked}, {idfs}) AS asked(query, idf) ON passage.words @@ query "
        f"CROSS JOIN LATERAL (SELECT ts_rank_cd({weights}, passage.words, query) * {unit}) "
        f"AS counted(f) GROUP BY passage.id ORDER BY score DESC, passage.id LIMIT {most}"
    )


def ranked(schema: str) -> str:
    """Return the function that ranks the passages of a schema. A fifth weight is the unit."""
    passages = f"SELECT id, size, words FROM {schema}.chunk WHERE tenant = $7 AND words @@ $1"
    query = scored(passages, asked="$2", idfs="$3", weights="$4", unit="$8", mean="$5", most="$6")
    return f"""
CREATE FUNCTION {schema}.ranked(
  driving tsquery, asked tsquery[], idfs float8[], weights float4[], mean float8, most int
) RETURNS TABLE(id bigint, score float8)
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = pg_catalog AS $$
BEGIN
  RETURN QUERY EXECUTE '{query}'
    USING ('''tenant:' || kds.tenant() || '''')::tsquery && driving,
      asked, idfs, weights, mean, most, kds.tenant(), coalesce(weights[5], 1)::float8;
END $$;
"""


def search_functions(schema: str) -> str:
    """Return the other functions that search the passages of a schema, and who may call them."""
    return f"""
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
GRANT USAGE ON SCHEMA {schema} TO {MEMBER};
GRANT EXECUTE ON FUNCTION
  {schema}.ranked, {schema}.frequencies, {schema}.index_vectors TO {MEMBER};
"""
