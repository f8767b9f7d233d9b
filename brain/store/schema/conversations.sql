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
  {owned},
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
  {owned},
  id text COLLATE "C" NOT NULL,
  session_num bigint NOT NULL REFERENCES kds.session ON DELETE CASCADE,
  seq int NOT NULL,
  role text NOT NULL CHECK(role IN ('user', 'assistant', 'system', 'tool')),
  speaker text,
  content text NOT NULL,
  at bigint NOT NULL,
  tokens int NOT NULL,
  details text,
  UNIQUE(tenant, id),
  UNIQUE(session_num, seq)
);

CREATE TABLE kds.chunk(
  id bigint PRIMARY KEY,
  {owned},
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
CREATE INDEX chunk_by_tenant_id ON kds.chunk(tenant, id);
CREATE VIEW kds.chunk_text WITH (security_invoker = true) AS
SELECT chunk.id, chunk.header, substr(message.content, chunk.start + 1, chunk.length) AS body,
  '' AS context, chunk.idents
FROM kds.chunk JOIN kds.message ON message.num = chunk.message_num;
GRANT SELECT ON kds.chunk_text TO kds_member;

CREATE TABLE kds.summary(
  num bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  {owned},
  session_num bigint NOT NULL REFERENCES kds.session ON DELETE CASCADE,
  first_seq int NOT NULL,
  last_seq int NOT NULL,
  text text NOT NULL,
  at bigint NOT NULL,
  kind text NOT NULL CHECK(kind IN ('rolling', 'periodic')),
  words tsvector NOT NULL DEFAULT ''
);
CREATE INDEX summary_by_session ON kds.summary(session_num, num);
CREATE INDEX summary_by_tenant ON kds.summary(tenant);

CREATE TABLE kds.entity_memory(
  {owned},
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
  {owned},
  key text COLLATE "C" NOT NULL,
  term text COLLATE "C" NOT NULL,
  snippet text NOT NULL,
  turn int NOT NULL,
  PRIMARY KEY(tenant, key, term),
  FOREIGN KEY(tenant, key) REFERENCES kds.entity_memory ON DELETE CASCADE
);

CREATE TABLE kds.profile(
  {owned},
  field text COLLATE "C" NOT NULL,
  value text NOT NULL,
  PRIMARY KEY(tenant, field)
);
CREATE TABLE kds.consent_event(
  num bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  {owned},
  at bigint NOT NULL,
  action text NOT NULL CHECK(action IN ('granted', 'revoked', 'changed', 'used')),
  purpose text NOT NULL
);
CREATE INDEX consent_event_by_tenant ON kds.consent_event(tenant, num);
CREATE TABLE kds.metric(
  num bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  {owned},
  at bigint NOT NULL,
  name text NOT NULL,
  data text NOT NULL
);
CREATE INDEX metric_by_time ON kds.metric(tenant, at);

CREATE TABLE kds.profile_vector(
  {owned},
  model text COLLATE "C" NOT NULL,
  field text COLLATE "C" NOT NULL,
  f16 bytea NOT NULL,
  PRIMARY KEY(tenant, model, field)
);
CREATE TABLE kds.summary_vector(
  summary_num bigint NOT NULL REFERENCES kds.summary ON DELETE CASCADE,
  {owned},
  model text COLLATE "C" NOT NULL,
  f16 bytea NOT NULL,
  PRIMARY KEY(summary_num, tenant)
);
CREATE INDEX summary_vector_by_tenant ON kds.summary_vector(tenant);

CREATE TABLE kds.kept_text(
  {owned},
  name text COLLATE "C" NOT NULL,
  content text NOT NULL,
  at bigint NOT NULL,
  mark bigint GENERATED ALWAYS AS IDENTITY,
  PRIMARY KEY(tenant, name)
);
