-- The planner must not know whose rows are asked for: it takes a tenant that its statistics lack for
-- one without rows, and reads all of them for each single one.
DO $$ DECLARE name text; BEGIN
  FOR name IN
    SELECT relname FROM pg_class JOIN pg_attribute ON attrelid = pg_class.oid
    WHERE relnamespace = '{schema}'::regnamespace AND relkind = 'r' AND attname = 'tenant'
      AND NOT relrowsecurity
  LOOP
    EXECUTE format('ALTER TABLE {schema}.%I ENABLE ROW LEVEL SECURITY', name);
    EXECUTE format('CREATE POLICY own ON {schema}.%I USING (tenant = (SELECT kds.tenant()))', name);
    EXECUTE format('GRANT SELECT, INSERT, UPDATE, DELETE ON {schema}.%I TO kds_member', name);
  END LOOP;
END $$
