CREATE FUNCTION kds.shared() RETURNS bigint LANGUAGE sql STABLE PARALLEL SAFE AS
$$ SELECT nullif(current_setting('kds.shared', true), '')::bigint $$;

CREATE POLICY shared ON kds_documents.document FOR SELECT USING (tenant = (SELECT kds.shared()));
CREATE POLICY shared ON kds_documents.section FOR SELECT USING (tenant = (SELECT kds.shared()));
CREATE POLICY shared ON kds_documents.chunk FOR SELECT USING (tenant = (SELECT kds.shared()));
CREATE POLICY shared ON kds_documents.term FOR SELECT USING (tenant = (SELECT kds.shared()));

CREATE FUNCTION kds.label() RETURNS tsquery LANGUAGE sql STABLE AS
$$ SELECT ('''tenant:' || kds.tenant() || ''''
  || coalesce(' | ''tenant:' || kds.shared() || '''', ''))::tsquery $$;

CREATE OR REPLACE FUNCTION kds_documents.ranked(
  driving tsquery, asked tsquery[], idfs float8[], weights float4[], mean float8, most int
) RETURNS TABLE(id bigint, score float8)
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = pg_catalog AS $$
BEGIN
  RETURN QUERY EXECUTE 'SELECT passage.id, sum(idf * f * 2.2 / (f + 1.2 * (0.25 + 0.75 * size / $5))) AS score
    FROM (SELECT id, size, words FROM kds_documents.chunk WHERE tenant IN ($7, $9) AND words @@ $1) AS passage
    JOIN unnest($2, $3) AS asked(query, idf) ON passage.words @@ query
    CROSS JOIN LATERAL (SELECT ts_rank_cd($4, passage.words, query) * $8) AS counted(f)
    GROUP BY passage.id ORDER BY score DESC, passage.id LIMIT $6'
    USING kds.label() && driving,
      asked, idfs, weights, mean, most, kds.tenant(), coalesce(weights[5], 1)::float8, kds.shared();
END $$;

CREATE OR REPLACE FUNCTION kds_documents.frequencies(asked tsquery[])
RETURNS TABLE(passages bigint)
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = pg_catalog AS $$
DECLARE one tsquery;
BEGIN
  FOREACH one IN ARRAY asked LOOP
    RETURN QUERY EXECUTE 'SELECT count(*) FROM kds_documents.chunk WHERE tenant IN ($2, $3) AND words @@ $1'
      USING kds.label() && one, kds.tenant(), kds.shared();
  END LOOP;
END $$;

CREATE FUNCTION kds.person_of(asked bytea)
RETURNS TABLE(organisation text, person text, role text, removal bigint)
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = pg_catalog AS $$
  SELECT organisation, person, role, (SELECT coalesce(max(num), 0) FROM kds.audit
    WHERE audit.organisation = token.organisation AND audit.person = token.person
    AND action = 'person removed')
  FROM kds.token
  WHERE digest = asked AND revoked_at IS NULL AND (expires_at IS NULL OR expires_at > now())
$$;
REVOKE ALL ON FUNCTION kds.person_of FROM PUBLIC;

CREATE FUNCTION kds.name_actor() RETURNS trigger LANGUAGE plpgsql SET search_path = pg_catalog AS
$$ BEGIN NEW.actor := session_user; RETURN NEW; END $$;
CREATE TRIGGER actor BEFORE INSERT ON kds.audit FOR EACH ROW EXECUTE FUNCTION kds.name_actor();
