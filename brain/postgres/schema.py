"""The tables on a server, step by step, as `upgrade` takes the steps.

They are those of `brain/sessions/memory_schema.py` with a tenant in every row, so that the same
SQL runs on both. What keeps tenants apart is here and nowhere else:

- every service transaction runs as the role MEMBER, which owns nothing and obeys the row policies,
  with the tenant's number in ``kds.tenant``; without a number no row is seen;
- a row gets its tenant by default, and a key is unique within its tenant;
- `ranked` and `frequencies` read past the policies, because an index on words cannot be used under
  them (``@@`` is not leakproof): they name the tenant themselves, and return numbers only.

A lexeme "tenant:N" stands in every ``words``, so that the index itself narrows a search to the
tenant.
"""

from typing import Final

MEMBER: Final = "kds_member"
"""The role that services act in."""

ROLE: Final = f"""
DO $$ BEGIN
  IF NOT EXISTS (SELECT 1 FROM pg_roles WHERE rolname = '{MEMBER}') THEN
    CREATE ROLE {MEMBER} NOLOGIN NOINHERIT NOBYPASSRLS;
  END IF;
  IF NOT pg_has_role(current_user, '{MEMBER}', 'SET') THEN
    EXECUTE format('GRANT {MEMBER} TO %I', current_user);
  END IF;
END $$
"""
"""Roles are the server's, not a database's: made once for all of them."""

_OWNED: Final = (
    "tenant bigint NOT NULL DEFAULT kds.tenant() REFERENCES kds.tenant ON DELETE CASCADE"
)

_KEEPING_APART: Final = """
DO $$ DECLARE name text; BEGIN
  FOREACH name IN ARRAY ARRAY[{tables}] LOOP
    EXECUTE format('ALTER TABLE kds.%I ENABLE ROW LEVEL SECURITY', name);
    EXECUTE format('CREATE POLICY own ON kds.%I USING (tenant = kds.tenant())', name);
    EXECUTE format('GRANT SELECT, INSERT, UPDATE, DELETE ON kds.%I TO {member}', name);
  END LOOP;
END $$
"""

_TABLES: Final = f"""
CREATE TABLE kds.tenant(
  num bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  organisation text COLLATE "C" NOT NULL,
  person text COLLATE "C" NOT NULL,
  project text COLLATE "C" NOT NULL,
  created_at timestamptz NOT NULL DEFAULT now(),
  UNIQUE(organisation, person, project)
);

CREATE TABLE kds.token(
  digest bytea PRIMARY KEY,
  organisation text COLLATE "C" NOT NULL,
  person text COLLATE "C" NOT NULL,
  role text NOT NULL CHECK(role IN ('member', 'admin')),
  created_at timestamptz NOT NULL DEFAULT now(),
  expires_at timestamptz,
  revoked_at timestamptz
);
CREATE INDEX token_by_person ON kds.token(organisation, person);
CREATE TABLE kds.audit(
  num bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  at timestamptz NOT NULL DEFAULT now(),
  organisation text COLLATE "C" NOT NULL,
  actor text NOT NULL,
  action text NOT NULL,
  person text NOT NULL
);
CREATE INDEX audit_by_organisation ON kds.audit(organisation, num);

CREATE FUNCTION kds.tenant() RETURNS bigint LANGUAGE sql STABLE PARALLEL SAFE AS
$$ SELECT nullif(current_setting('kds.tenant', true), '')::bigint $$;

CREATE TABLE kds.session(
  num bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  {_OWNED},
  id text COLLATE "C" NOT NULL,
  title text NOT NULL,
  title_given int NOT NULL,
  created_at bigint NOT NULL,
  updated_at bigint NOT NULL,
  document_context text,
  message_count int NOT NULL DEFAULT 0,
  token_count bigint NOT NULL DEFAULT 0,
  chunk_count int NOT NULL DEFAULT 0,
  word_count bigint NOT NULL DEFAULT 0,
  UNIQUE(tenant, id)
);
CREATE INDEX session_by_change ON kds.session(tenant, updated_at DESC, num DESC);

CREATE TABLE kds.message(
  num bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  {_OWNED},
  id text COLLATE "C" NOT NULL,
  session_num bigint NOT NULL REFERENCES kds.session ON DELETE CASCADE,
  seq int NOT NULL,
  role text NOT NULL CHECK(role IN ('user', 'assistant', 'system', 'tool')),
  speaker text,
  content text NOT NULL,
  at bigint NOT NULL,
  tokens int NOT NULL,
  UNIQUE(tenant, id),
  UNIQUE(session_num, seq)
);

CREATE TABLE kds.chunk(
  id bigint PRIMARY KEY,
  {_OWNED},
  message_num bigint NOT NULL REFERENCES kds.message ON DELETE CASCADE,
  kind text NOT NULL CHECK(kind IN ('prose', 'code')),
  language text,
  header text NOT NULL,
  start int NOT NULL,
  length int NOT NULL,
  idents text NOT NULL,
  tokens int NOT NULL,
  size int NOT NULL DEFAULT 0,
  words tsvector NOT NULL DEFAULT ''
);
CREATE INDEX chunk_by_message ON kds.chunk(message_num);
CREATE INDEX chunk_words ON kds.chunk USING gin(words);
CREATE VIEW kds.chunk_text WITH (security_invoker = true) AS
SELECT chunk.id, chunk.header, substr(message.content, chunk.start + 1, chunk.length) AS body
FROM kds.chunk JOIN kds.message ON message.num = chunk.message_num;
GRANT SELECT ON kds.chunk_text TO {MEMBER};

CREATE TABLE kds.embedding_model(
  num bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  {_OWNED},
  name text COLLATE "C" NOT NULL,
  dimensions int,
  serving int NOT NULL,
  wanted int NOT NULL,
  UNIQUE(tenant, name)
);
CREATE TABLE kds.embedding(
  chunk_id bigint NOT NULL REFERENCES kds.chunk ON DELETE CASCADE,
  model_num bigint NOT NULL REFERENCES kds.embedding_model ON DELETE CASCADE,
  {_OWNED},
  vector halfvec NOT NULL,
  PRIMARY KEY(chunk_id, model_num)
);
CREATE INDEX embedding_by_model ON kds.embedding(model_num);
CREATE TABLE kds.embed_job(
  chunk_id bigint PRIMARY KEY REFERENCES kds.chunk ON DELETE CASCADE,
  {_OWNED},
  attempts int NOT NULL DEFAULT 0,
  next_at bigint,
  error text
);
CREATE INDEX embed_job_by_time ON kds.embed_job(tenant, next_at);

CREATE TABLE kds.summary(
  num bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  {_OWNED},
  session_num bigint NOT NULL REFERENCES kds.session ON DELETE CASCADE,
  first_seq int NOT NULL,
  last_seq int NOT NULL,
  text text NOT NULL,
  at bigint NOT NULL,
  kind text NOT NULL CHECK(kind IN ('rolling', 'periodic')),
  size int NOT NULL DEFAULT 0,
  words tsvector NOT NULL DEFAULT ''
);
CREATE INDEX summary_by_session ON kds.summary(session_num, num);

CREATE TABLE kds.entity_memory(
  {_OWNED},
  key text COLLATE "C" NOT NULL,
  documents text NOT NULL,
  sections text NOT NULL,
  turn_count int NOT NULL,
  expires_at bigint NOT NULL,
  PRIMARY KEY(tenant, key)
);
CREATE INDEX entity_memory_by_expiry ON kds.entity_memory(tenant, expires_at);
CREATE TABLE kds.entity(
  rowid bigint GENERATED ALWAYS AS IDENTITY,
  {_OWNED},
  key text COLLATE "C" NOT NULL,
  term text COLLATE "C" NOT NULL,
  snippet text NOT NULL,
  turn int NOT NULL,
  PRIMARY KEY(tenant, key, term),
  FOREIGN KEY(tenant, key) REFERENCES kds.entity_memory ON DELETE CASCADE
);

CREATE TABLE kds.profile(
  {_OWNED},
  field text COLLATE "C" NOT NULL,
  value text NOT NULL,
  PRIMARY KEY(tenant, field)
);
CREATE TABLE kds.consent_event(
  num bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  {_OWNED},
  at bigint NOT NULL,
  action text NOT NULL CHECK(action IN ('granted', 'revoked', 'changed', 'used')),
  purpose text NOT NULL
);
CREATE INDEX consent_event_by_tenant ON kds.consent_event(tenant, num);
CREATE TABLE kds.metric(
  num bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  {_OWNED},
  at bigint NOT NULL,
  name text NOT NULL,
  data text NOT NULL
);
CREATE INDEX metric_by_time ON kds.metric(tenant, at);

CREATE TABLE kds.item(
  num bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  {_OWNED},
  namespace text COLLATE "C" NOT NULL,
  key text COLLATE "C" NOT NULL,
  value text NOT NULL,
  created_at bigint NOT NULL,
  updated_at bigint NOT NULL,
  lifetime bigint,
  expires_at bigint,
  UNIQUE(tenant, namespace, key)
);
CREATE TABLE kds.item_text(
  num bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  {_OWNED},
  item_num bigint NOT NULL REFERENCES kds.item ON DELETE CASCADE,
  text text NOT NULL,
  model text,
  f16 bytea,
  size int NOT NULL DEFAULT 0,
  words tsvector NOT NULL DEFAULT ''
);
CREATE INDEX item_text_by_item ON kds.item_text(item_num);

CREATE TABLE kds.context_entry(
  num bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  {_OWNED},
  conversation text COLLATE "C" NOT NULL,
  id text COLLATE "C" NOT NULL,
  at bigint NOT NULL,
  line text NOT NULL,
  UNIQUE(tenant, id)
);
CREATE INDEX context_entry_by_conversation ON kds.context_entry(tenant, conversation, num);
"""

_SEARCH: Final = f"""
CREATE FUNCTION kds.bm25(
  words tsvector, size int, asked tsquery[], idfs float8[], weights float4[], mean float8
) RETURNS float8 LANGUAGE sql IMMUTABLE PARALLEL SAFE SET search_path = pg_catalog AS $$
  SELECT coalesce(sum(idf * f * 2.2 / (f + 1.2 * (0.25 + 0.75 * size / mean))), 0)
  FROM unnest(asked, idfs) AS one(query, idf), ts_rank_cd(weights, words, query) AS f
  WHERE words @@ query
$$;

CREATE FUNCTION kds.ranked(
  driving tsquery, asked tsquery[], idfs float8[], weights float4[], mean float8, most int
) RETURNS TABLE(id bigint, score float8)
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = pg_catalog AS $$
BEGIN
  RETURN QUERY EXECUTE
    'SELECT id, kds.bm25(words, size, $2, $3, $4, $5) AS score FROM kds.chunk
     WHERE tenant = $7 AND words @@ $1 ORDER BY score DESC, id LIMIT $6'
    USING ('''tenant:' || kds.tenant() || '''')::tsquery && driving,
      asked, idfs, weights, mean, most, kds.tenant();
END $$;

CREATE FUNCTION kds.frequencies(asked tsquery[]) RETURNS TABLE(passages bigint)
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = pg_catalog AS $$
DECLARE one tsquery;
BEGIN
  FOREACH one IN ARRAY asked LOOP
    RETURN QUERY EXECUTE 'SELECT count(*) FROM kds.chunk WHERE tenant = $2 AND words @@ $1'
      USING ('''tenant:' || kds.tenant() || '''')::tsquery && one, kds.tenant();
  END LOOP;
END $$;

CREATE FUNCTION kds.index_vectors(width int) RETURNS void
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog AS $$
BEGIN
  IF width BETWEEN 1 AND 4000 THEN
    EXECUTE format('CREATE INDEX IF NOT EXISTS embedding_%s ON kds.embedding USING hnsw
      ((vector::public.halfvec(%s)) public.halfvec_cosine_ops)
      WHERE public.vector_dims(vector) = %s', width, width, width);
  END IF;
END $$;

REVOKE ALL ON FUNCTION kds.ranked, kds.frequencies, kds.index_vectors FROM PUBLIC;
GRANT USAGE ON SCHEMA kds TO {MEMBER};
GRANT EXECUTE ON FUNCTION
  kds.tenant, kds.bm25, kds.ranked, kds.frequencies, kds.index_vectors TO {MEMBER};
"""
"""BM25 with k1 = 1.2 and b = 0.75, as SQLite's FTS5 has it: of a single term ``ts_rank_cd`` is the
sum of the weights of its places, which is what FTS5 counts."""

_OWN_TABLES: Final = (
    "session message chunk embedding_model embedding embed_job summary entity_memory entity "
    "profile consent_event metric item item_text context_entry"
).split()

STEPS: Final[tuple[tuple[str, ...], ...]] = (
    (
        _TABLES,
        _SEARCH,
        _KEEPING_APART.format(tables=", ".join(map(repr, _OWN_TABLES)), member=MEMBER),
    ),
)
"""Only ever added to at the end: a step that a server has had stays as it is."""
