DO $$ DECLARE one record; BEGIN
  FOR one IN
    SELECT proc.oid::regprocedure AS name, nspname FROM pg_proc AS proc
    JOIN pg_namespace ON pg_namespace.oid = pronamespace
    WHERE nspname IN ({schemas}) AND proname IN ('ranked', 'frequencies', 'newest')
      AND proowner <> 'kds_reader'::regrole
  LOOP
    EXECUTE format('GRANT CREATE ON SCHEMA %I TO kds_reader', one.nspname);
    EXECUTE format('ALTER FUNCTION %s OWNER TO kds_reader', one.name);
    EXECUTE format('REVOKE CREATE ON SCHEMA %I FROM kds_reader', one.nspname);
  END LOOP;
END $$
