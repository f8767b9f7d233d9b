DROP TABLE kds.item_text;
DROP TABLE kds.item;
DROP TABLE kds.common_word;
DROP TABLE kds_documents.common_word;

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
