CREATE FUNCTION kds.own_passages(OUT estimate bigint, OUT share float8)
LANGUAGE plpgsql SET search_path = pg_catalog AS $$
DECLARE plan json;
BEGIN
  EXECUTE format('EXPLAIN (FORMAT JSON) SELECT FROM kds.chunk WHERE tenant = %L', kds.tenant())
    INTO plan;
  estimate := plan -> 0 -> 'Plan' ->> 'Plan Rows';
  SELECT estimate / greatest(reltuples, 1) INTO share
  FROM pg_class WHERE oid = 'kds.chunk'::regclass;
END $$;

CREATE FUNCTION kds.of_own(asked tsquery, share float8) RETURNS tsquery
LANGUAGE sql STABLE SET search_path = pg_catalog AS $$
  -- The list of all passages of a tenant takes longer to read than it saves when they are many.
  SELECT CASE WHEN share > {large_share} THEN asked
    ELSE ('''tenant:' || kds.tenant() || '''')::tsquery && asked END
$$;

DROP FUNCTION kds.frequencies;
CREATE FUNCTION kds.frequencies(asked tsquery[]) RETURNS TABLE(passages bigint)
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = pg_catalog AS $$
DECLARE
  own bigint := kds.tenant();
  total bigint; share float8; first bigint; last bigint;
  looked_at bigint; had bigint[]; most bigint;
BEGIN
  SELECT * INTO total, share FROM kds.own_passages();
  -- To count a common word takes as long as there are passages: of many, a sample tells enough.
  IF total > {sampled_from} THEN
    most := {counted};
    SELECT min(id), max(id) INTO first, last FROM kds.chunk WHERE tenant = own;
    WITH sample AS MATERIALIZED (
      SELECT few.words FROM generate_series(0, {places} - 1) AS place CROSS JOIN LATERAL (
        SELECT words FROM kds.chunk
        WHERE tenant = own AND id >= first + (last - first) / {places} * place
        ORDER BY id LIMIT {from_each}
      ) AS few
    ), counted AS (
      SELECT number, count(*) FILTER (WHERE words @@ query) AS hits, count(*) AS rows
      FROM sample CROSS JOIN unnest(asked) WITH ORDINALITY AS one(query, number) GROUP BY number
    )
    SELECT array_agg(hits ORDER BY number), max(rows) INTO had, looked_at FROM counted;
  END IF;
  FOR at IN 1 .. coalesce(cardinality(asked), 0) LOOP
    passages := total * had[at] / looked_at;
    IF most IS NULL OR had[at] <= {enough} THEN
      EXECUTE 'SELECT CASE count(*) WHEN $3 THEN greatest($3, $4) ELSE count(*) END FROM (
        SELECT 1 FROM kds.chunk WHERE tenant = $2 AND words @@ $1 LIMIT $3) AS found'
        INTO passages USING kds.of_own(asked[at], share), own, most, passages;
    END IF;
    RETURN NEXT;
  END LOOP;
END $$;

CREATE FUNCTION kds.newest(asked tsquery, most int) RETURNS TABLE(id bigint, tokens int)
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = pg_catalog AS $$
BEGIN
  RETURN QUERY EXECUTE 'SELECT id, tokens FROM kds.chunk WHERE tenant = $2 AND words @@ $1
    ORDER BY id DESC LIMIT $3'
    USING kds.of_own(asked, (kds.own_passages()).share), kds.tenant(), most;
END $$;

REVOKE ALL ON FUNCTION kds.frequencies, kds.newest FROM PUBLIC;
GRANT EXECUTE ON FUNCTION kds.frequencies, kds.newest TO kds_member;
