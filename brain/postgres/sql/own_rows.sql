DO $$ DECLARE name text; BEGIN
  FOREACH name IN ARRAY ARRAY[{tables}] LOOP
    EXECUTE format('ALTER TABLE {schema}.%I ENABLE ROW LEVEL SECURITY', name);
    EXECUTE format('CREATE POLICY own ON {schema}.%I USING (tenant = kds.tenant())', name);
    EXECUTE format('GRANT SELECT, INSERT, UPDATE, DELETE ON {schema}.%I TO kds_member', name);
  END LOOP;
END $$
