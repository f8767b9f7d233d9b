-- Of more than 20,000 passages, 50 from each of 20 places say how common a word is. Those which not
-- 10 of them have are counted up to 400, unless 2,000 are certain: of a word that 400 of a million
-- have, one sample of 126 has three.
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
  SELECT CASE WHEN share > 0.5 THEN asked
    ELSE ('''tenant:' || kds.tenant() || '''')::tsquery && asked END
$$;

-- By the index on words only: for a few rows the planner would read everybody's in their order.
CREATE FUNCTION kds.counted(asked tsquery, most bigint) RETURNS bigint
LANGUAGE plpgsql STABLE
SET search_path = pg_catalog SET enable_seqscan = off SET enable_indexscan = off AS $$
DECLARE found bigint;
BEGIN
  EXECUTE 'SELECT count(*) FROM (
    SELECT 1 FROM kds.chunk WHERE tenant = $2 AND words @@ $1 LIMIT $3) AS found'
    INTO found USING asked, kds.tenant(), most;
  RETURN found;
END $$;

DROP FUNCTION kds.frequencies;
CREATE FUNCTION kds.frequencies(asked tsquery[]) RETURNS TABLE(passages bigint)
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = pg_catalog AS $$
DECLARE
  own bigint := kds.tenant();
  total bigint; share float8; first bigint; last bigint;
  looked_at bigint; had bigint[]; most bigint; found bigint;
BEGIN
  SELECT * INTO total, share FROM kds.own_passages();
  -- To count a common word takes as long as there are passages: of many, a sample tells enough.
  IF total > 20000 THEN
    most := 400;
    -- All in the order of the index that begins with the tenant: else others' rows are read.
    SELECT id INTO first FROM kds.chunk WHERE tenant BETWEEN own AND own
      ORDER BY tenant, id LIMIT 1;
    SELECT id INTO last FROM kds.chunk WHERE tenant BETWEEN own AND own
      ORDER BY tenant DESC, id DESC LIMIT 1;
    WITH sample AS MATERIALIZED (
      SELECT few.words FROM generate_series(0, 20 - 1) AS place CROSS JOIN LATERAL (
        SELECT words FROM kds.chunk
        WHERE (tenant, id) >= (own, first + (last - first) / 20 * place) AND tenant <= own
        ORDER BY tenant, id LIMIT 50
      ) AS few
    ), counted AS (
      SELECT number, count(*) FILTER (WHERE words @@ query) AS hits, count(*) AS rows
      FROM sample CROSS JOIN unnest(asked) WITH ORDINALITY AS one(query, number) GROUP BY number
    )
    SELECT array_agg(hits ORDER BY number), max(rows) INTO had, looked_at FROM counted;
  END IF;
  FOR at IN 1 .. coalesce(cardinality(asked), 0) LOOP
    passages := total * had[at] / looked_at;
    IF most IS NULL OR had[at] <= 10 AND passages <= 2000 THEN
      -- A count ends soon: others' rows cost it less than the list of all of one's own.
      found := kds.counted(kds.of_own(asked[at], 2 * share), most);
      passages := CASE found WHEN most THEN greatest(most, passages) ELSE found END;
    END IF;
    RETURN NEXT;
  END LOOP;
END $$;

CREATE FUNCTION kds.newest(asked tsquery, most int) RETURNS TABLE(id bigint, tokens int)
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = pg_catalog AS $$
BEGIN
  RETURN QUERY EXECUTE 'SELECT id, tokens FROM kds.chunk WHERE tenant BETWEEN $2 AND $2 AND words @@ $1
    ORDER BY tenant DESC, id DESC LIMIT $3'
    USING kds.of_own(asked, (kds.own_passages()).share), kds.tenant(), most;
END $$;

REVOKE ALL ON FUNCTION kds.frequencies, kds.newest FROM PUBLIC;
GRANT EXECUTE ON FUNCTION kds.frequencies, kds.newest TO kds_member;
