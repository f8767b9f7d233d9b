CREATE TABLE kds.kept_text(
  {owned},
  name text COLLATE "C" NOT NULL,
  content text NOT NULL,
  at bigint NOT NULL,
  mark bigint GENERATED ALWAYS AS IDENTITY,
  PRIMARY KEY(tenant, name)
);
