CREATE TABLE kds.transcript(
  {owned},
  session_id text COLLATE "C" NOT NULL,
  position bigint NOT NULL,
  about text NOT NULL,
  PRIMARY KEY(tenant, session_id),
  FOREIGN KEY(tenant, session_id) REFERENCES kds.session(tenant, id) ON DELETE CASCADE
);

CREATE SCHEMA kds_assistants;
CREATE TABLE kds_assistants.project(
  num bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  {owned},
  name text NOT NULL,
  folder text NOT NULL,
  wanted int NOT NULL DEFAULT 0
);
CREATE INDEX project_by_tenant ON kds_assistants.project(tenant, num);
CREATE TABLE kds_assistants.clone(
  {owned},
  remote text COLLATE "C" NOT NULL,
  first_commit text COLLATE "C" NOT NULL,
  project_num bigint NOT NULL,
  PRIMARY KEY(tenant, remote, first_commit)
);
CREATE TABLE kds_assistants.forgotten(
  {owned},
  mark text COLLATE "C" NOT NULL,
  PRIMARY KEY(tenant, mark)
);
CREATE TABLE kds_assistants.excluded(
  {owned},
  path text COLLATE "C" NOT NULL,
  PRIMARY KEY(tenant, path)
);
GRANT USAGE ON SCHEMA kds_assistants TO kds_member;
